#!/usr/bin/env python3
"""Runs the program crawl as its users do, on a web site of its own. Usage: check_crawl.py FOLDER-OF-PROGRAMS"""
import http.server
import os
import pty
import signal
import socket
import struct
import subprocess
import threading
import zlib

from tool_test import PROGRAMS, SECONDS, Tool, full_disk, main, run


class Site(http.server.BaseHTTPRequestHandler):
    """/0 to /9, each with links to the next and to another host; /slow does not answer; /other leads to /9 by another
    name of the host; and bad ones."""
    go_on = threading.Event()
    asked = threading.Event()
    redirects = {"/round": "/and-round", "/and-round": "/round", "/self": "/self", "/away": "http://[nonsense",
                 "/mail": "mailto:a@b"}
    malformed = (b"<a href=/9><a href='http://[nonsense'><a href=\"http://%zz/\"><a href='javascript:alert(1)'>"
                 b"<a href='http:///x'><a href='mailto:a'><a href='\0'><a =x><a href><!-- <a href=/lost> -->"
                 b"<A HREF = 'http://a:99999999/'>\xff\xfe<a href='" + b"x" * 5000 + b"'><a href='/8<a href=\"/8")

    def do_GET(self):
        if self.path == "/slow":
            Site.asked.set()
            Site.go_on.wait(SECONDS)
        if self.path in Site.redirects:
            self.send_response(302)
            self.send_header("Location", Site.redirects[self.path])
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        if self.path == "/garbage":
            self.wfile.write(b"\x00\x01 this is no HTTP\r\n\r\n")
            return
        if self.path == "/broken-off":
            self.send_response(200)
            self.send_header("Content-Length", "1000")
            self.end_headers()
            self.wfile.write(b"<a href=/0>")
            return
        if self.path == "/malformed":
            self.send_response(200)
            self.send_header("Content-Type", "Text/HTML")
            self.send_header("Content-Length", str(len(Site.malformed)))
            self.end_headers()
            self.wfile.write(Site.malformed)
            return
        n = int(self.path[1:]) if self.path[1:].isdigit() else 9
        body = b"" if n == 9 else f"<a href={n + 1}><a href='http://other.invalid/'>".encode()
        if self.path == "/other":
            body = f"<a href='http://localhost:{self.server.server_port}/9'>".encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class SiteServer(http.server.ThreadingHTTPServer):
    def handle_error(self, *_):  # a crawler that is stopped hangs up
        pass


class Crawl(Tool):
    def setUp(self):
        super().setUp()
        Site.go_on.clear()
        Site.asked.clear()
        server = SiteServer(("127.0.0.1", 0), Site)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        self.addCleanup(Site.go_on.set)
        self.url = f"http://127.0.0.1:{server.server_port}"
        self.list = self.folder / "list"

    def test_follows_links_once(self):
        result = run("crawl", "--list", self.list, "--delay", 1, "--depth", 4, self.url + "/0")
        self.expect(result, 0, "5 done, 0 left")
        self.assertEqual(sorted(result.stdout.splitlines()),
                         [f"200 {n} {self.url}/{n}" for n in range(5)])
        result = run("crawl", "--list", self.list, self.url + "/0")
        self.expect(result, 0, "5 done, 0 left")
        self.assertEqual(result.stdout, "")

    def test_follows_links_to_other_hosts_if_told_to(self):
        self.expect(self.crawl(self.url + "/other"), 0, "1 done, 0 left")
        self.list.unlink()
        port = self.url.rpartition(":")[2]
        self.expect(self.crawl("--host", f"LocalHost:{port}", self.url + "/other"), 0,
                    f"200 1 http://localhost:{port}/9", "2 done, 0 left")
        self.expect(self.crawl("--host", "", self.url), 2, "'' is no host")

    def test_is_stopped_and_goes_on(self):
        command = [PROGRAMS / "crawl", "--list", self.list, "--delay", "0", "--timeout", "1000",
                   self.url + "/slow", self.url + "/8"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True) as p:
            self.assertTrue(Site.asked.wait(SECONDS))
            self.assertIn("/8", p.stdout.readline())
            self.assertIn("/9", p.stdout.readline())
            code, said = self.interrupted(p)
        self.assertEqual(code, 3, said)
        self.assertIn("2 done, 1 left; run it again to go on", said)
        Site.go_on.set()
        self.expect(run("crawl", "--list", self.list), 0, "/slow", "3 done, 0 left")

    def test_errors(self):
        self.expect(run("crawl", "--list", self.list, "ftp://a/"), 2, "is no address")
        self.list.write_text("a letter")
        self.expect(run("crawl", "--list", self.list, self.url), 1, "is not a work list of takt")
        self.assertEqual(self.list.read_text(), "a letter")
        with socket.create_server(("127.0.0.1", 0)) as s:
            port = s.getsockname()[1]
        result = run("crawl", "--list", self.folder / "other", f"http://127.0.0.1:{port}/")
        self.expect(result, 3, "0 done, 1 left", "crawl: http://127.0.0.1")
        self.expect(run("crawl", "--list", self.folder / "no" / "list", self.url), 1, "No such file")
        self.expect(run("crawl", "--list", self.folder, self.url), 1, "is not a regular file")

    def crawl(self, *more, **how):
        return run("crawl", "--list", self.list, "--delay", 0, *more, **how)

    def test_bad_pages(self):
        good = ("/round", "/self", "/away", "/mail", "/malformed")
        bad = ("/garbage", "/broken-off")
        result = self.crawl(*[self.url + path for path in good + bad])
        self.expect(result, 3, "2 left", *[f"crawl: {self.url}{path}: " for path in bad])
        asked = sorted(line.split()[2][len(self.url):] for line in result.stdout.splitlines())
        self.assertEqual(asked, sorted(good + ("/and-round", "/9")), "each once, and no others")

    def test_a_full_disk_loses_nothing(self):
        result = self.crawl(self.url + "/0", "--depth", 9, preexec_fn=full_disk(300))
        self.expect(result, 1, "cannot write to", "File too large", " left; run it again")
        before = [line.split()[2] for line in result.stdout.splitlines()]
        result = self.crawl("--depth", 9)
        self.expect(result, 0, "10 done, 0 left")
        after = [line.split()[2] for line in result.stdout.splitlines()]
        self.assertEqual(set(before + after), {f"{self.url}/{n}" for n in range(10)})
        self.assertLessEqual(len(set(before) & set(after)), 1, "the one that could not be confirmed")

    def test_an_output_that_is_full_loses_nothing(self):
        with open("/dev/full", "w") as full:
            result = subprocess.run([PROGRAMS / "crawl", "--list", self.list, "--delay", "0", self.url + "/8"],
                                    stdout=full, stderr=subprocess.PIPE, text=True, timeout=SECONDS)
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn("crawl: cannot write to the output: No space left", result.stderr)
        self.assertIn("0 done, 1 left", result.stderr)
        self.expect(self.crawl(), 0, "/8", "/9", "2 done, 0 left")

    def test_without_an_output(self):
        command = f'"{PROGRAMS}/crawl" --list "{self.list}" --delay 0 {self.url}/8 >&-'
        result = subprocess.run(["sh", "-c", command], stderr=subprocess.PIPE, text=True, timeout=SECONDS)
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn("crawl: cannot write to the output: Bad file descriptor", result.stderr)
        self.expect(self.crawl(), 0, "/8", "/9", "2 done, 0 left")

    def test_a_list_that_is_cut_short_or_damaged_or_in_use(self):
        self.expect(self.crawl(self.url + "/7"), 0, "3 done")
        whole = self.list.read_bytes()
        self.list.write_bytes(whole[:-1])  # the last page is not confirmed
        self.expect(self.crawl(), 0, f"200 2 {self.url}/9", "3 done, 0 left")
        damaged = whole[:30] + b"?" + whole[31:]
        self.list.write_bytes(damaged)
        self.expect(self.crawl(), 1, "is damaged at byte 16", "shorten the file to 16 bytes")
        self.assertEqual(self.list.read_bytes(), damaged)
        self.list.unlink()
        with subprocess.Popen([PROGRAMS / "crawl", "--list", self.list, self.url + "/slow"],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as p:
            self.assertTrue(Site.asked.wait(SECONDS))
            self.expect(self.crawl(), 1, "is in use by another list or process")
            self.assertEqual(self.interrupted(p)[0], 3)

    def test_a_list_of_somebody_else(self):
        items = b"".join(b"a" + struct.pack("<II", len(key), len(data)) + key + data
                         for key, data in ((b"http://127.0.0.1:1/", b"deep"), (b"a letter", b"0"), (b"", b"0")))
        length = struct.pack("<I", len(items))
        self.list.write_bytes(b"takt work list 1" + length + struct.pack("<II", zlib.crc32(length), zlib.crc32(items)) + items)
        self.expect(self.crawl(), 3, "http://127.0.0.1:1/: was not put into the list by crawl",
                    "a letter: was not put into the list by crawl", "crawl: : was not put", "0 done, 3 left")

    def test_progress_is_for_terminals(self):
        ours, theirs = pty.openpty()
        with subprocess.Popen([PROGRAMS / "crawl", "--list", self.list, "--delay", "0", self.url + "/slow", self.url + "/9"],
                              stdout=theirs, stderr=theirs) as p:
            os.close(theirs)
            said = b""
            while b"1 done, 1 under way" not in said:
                said += os.read(ours, 1000)
            p.send_signal(signal.SIGINT)
            self.assertEqual(p.wait(SECONDS), 3)
            while b"run it again" not in said:
                said += os.read(ours, 1000)
        os.close(ours)
        self.assertIn(b"\r\x1b[K1 done, 1 under way, 0 to go", said)
        self.assertIn(b"\r\x1b[K200 0 " + self.url.encode(), said, "and does not get in the way")
        self.assertIn(b"\r\x1b[Kcrawl: 1 done, 1 left", said, "it is cleared before the last word")
        Site.go_on.set()
        result = self.crawl()
        self.expect(result, 0, "2 done")
        self.assertNotIn("\r", result.stdout + result.stderr)

    def test_the_second_signal_does_not_wait(self):
        with subprocess.Popen([PROGRAMS / "crawl", "--list", self.list, "--timeout", "1000", self.url + "/slow"],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as p:
            self.assertTrue(Site.asked.wait(SECONDS))
            p.send_signal(signal.SIGINT)
            code, said = self.interrupted(p)
        self.assertEqual(code, 3, said)
        Site.go_on.set()
        self.expect(self.crawl(), 0, "1 done, 0 left")


if __name__ == "__main__":
    main(__doc__)
