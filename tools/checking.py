"""The command line and the exit code that all checks of the tree share."""
import argparse
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def main(document, what, check, self_test):
    """Runs a check and exits. check(root) returns all violations below root, one text each."""
    parser = argparse.ArgumentParser(description=document, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", default=ROOT)
    parser.add_argument("--self-test", action="store_true")
    arguments = parser.parse_args()
    if arguments.self_test:
        sys.exit(self_test())
    found = check(arguments.root)
    print("\n".join(found) or f"{what}: clean")
    sys.exit(1 if found else 0)
