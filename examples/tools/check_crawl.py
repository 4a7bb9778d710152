#!/usr/bin/env python3
"""Tests the program crawl end to end, on a local web site. Usage: check_crawl.py FOLDER-OF-PROGRAMS"""
import http.server
import os
import pty
import signal
import socket
import struct
import subprocess
import threading
import zlib

from tool_test import PROGRAMS, SECONDS, Tool, files_at_most, full_disk, main, run


class Site(http.server.BaseHTTPRequestHandler):
    """Serves /0 to /9, each with links to the next page and to another host; /slow, which answers after go_on; /other,
    which links to /9 by another name of the host; and invalid pages."""
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


class Pages(http.server.BaseHTTPRequestHandler):
    """Serves pages that the test defines: `links` maps a path to links, separated by spaces; `status` to a status; `bodies`
    to a body. Paths in `silent` get no answer, paths in `held` after go_on is set. All others are empty pages."""
    protocol_version = "HTTP/1.0"

    def do_GET(self):
        site = self.server.site
        with site.changed:
            site.asked.append(self.path)
            site.changed.notify_all()
        if self.path in site.held:
            site.go_on.wait(SECONDS)
        if self.path in site.silent:
            return
        body = site.bodies.get(self.path)
        if body is None:
            body = "".join(f'<a href="{link}">' for link in site.links.get(self.path, "").split()).encode()
        self.send_response(site.status.get(self.path, 200))
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class PagesServer:
    def __init__(self, test, links):
        self.links, self.status, self.bodies, self.silent, self.held = links, {}, {}, set(), set()
        self.asked, self.changed, self.go_on = [], threading.Condition(), threading.Event()
        server = SiteServer(("127.0.0.1", 0), Pages)
        server.site = self
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        test.addCleanup(thread.join)
        test.addCleanup(server.server_close)
        test.addCleanup(server.shutdown)
        test.addCleanup(self.go_on.set)
        self.host = f"127.0.0.1:{server.server_port}"
        self.url = f"http://{self.host}"

    def await_asked(self, path):
        with self.changed:
            assert self.changed.wait_for(lambda: path in self.asked, SECONDS), f"{path} was not asked for"

    def take_asked(self):
        with self.changed:
            asked, self.asked = sorted(self.asked), []
        return asked


class SiteServer(http.server.ThreadingHTTPServer):
    def handle_error(self, *_):  # a crawler that stops closes its connections
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
        self.expect(self.crawl("--host", "", self.url), 2, "'' is not a host")

    def test_is_stopped_and_goes_on(self):
        site = PagesServer(self, {"/": "/held", "/held": "/end"})
        site.held.add("/held")
        command = [PROGRAMS / "crawl", "--list", self.list, "--delay", "0", "--timeout", "1000", site.url]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as p:
            site.await_asked("/held")
            code, said = self.interrupted(p)
        self.assertEqual(code, 3, said)
        self.assertIn("1 done, 1 left; run it again to continue", said)
        site.go_on.set()
        self.expect(run("crawl", "--list", self.list, "--delay", 0), 0, "/held", "/end", "3 done, 0 left")

    def test_errors(self):
        self.expect(run("crawl", "--list", self.list, "ftp://a/"), 2, "is not an address")
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
        self.expect(result, 3, "3 left", "/malformed: links were skipped: 1 of them are longer than --max-url 2000", *[f"crawl: {self.url}{path}: " for path in bad])
        asked = sorted(line.split()[2][len(self.url):] for line in result.stdout.splitlines())
        self.assertEqual(asked, sorted(good + ("/and-round", "/9")), "each page once, and no others")

    def test_a_full_disk_loses_nothing(self):
        result = self.crawl(self.url + "/0", "--depth", 9, limit=full_disk(400))
        self.expect(result, 1, "cannot write to", "File too large", " left; run it again")
        before = [line.split()[2] for line in result.stdout.splitlines()]
        result = self.crawl("--depth", 9)
        self.expect(result, 0, "10 done, 0 left")
        after = [line.split()[2] for line in result.stdout.splitlines()]
        self.assertEqual(set(before + after), {f"{self.url}/{n}" for n in range(10)})
        self.assertLessEqual(len(set(before) & set(after)), 1, "the page that could not be completed")

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
        self.list.write_bytes(whole[:-1])  # the last page is not complete
        self.expect(self.crawl(), 0, "the last record was incomplete and was dropped", f"200 2 {self.url}/9", "3 done, 0 left")
        damaged = whole[:50] + b"?" + whole[51:]
        self.list.write_bytes(damaged)
        self.expect(self.crawl(), 1, "is damaged at byte 40", "(records lost: 1)")
        self.assertEqual(self.list.read_bytes(), damaged)
        self.list.unlink()
        with subprocess.Popen([PROGRAMS / "crawl", "--list", self.list, self.url + "/slow"],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as p:
            self.assertTrue(Site.asked.wait(SECONDS))
            self.expect(self.crawl(), 1, "is in use by another list or process")
            self.assertEqual(self.interrupted(p)[0], 3)

    @staticmethod
    def list_of(metadata, items):
        """The bytes of a file_work_queue in the format of docs/services.md."""
        payloads = [] if metadata is None else [b"m" + metadata]
        payloads += [b"a" + struct.pack("<QI", n, len(key)) + key + data for n, (key, data) in enumerate(items)]
        magic, salt = b"takt work list 2", struct.pack("<Q", 0x0101010101010101)
        file = magic + 2 * (salt + struct.pack("<I", zlib.crc32(salt, zlib.crc32(magic))))
        for sequence, payload in enumerate(payloads):
            header = salt[:4] + struct.pack("<QIIII", sequence, 0, 0, len(payload), zlib.crc32(payload))
            file += header + struct.pack("<I", zlib.crc32(header, zlib.crc32(salt))) + payload
        return file

    def test_a_list_of_somebody_else(self):
        items = [(b"http://127.0.0.1:1/", b"0"), (b"a letter", b"0"), (b"", b"0"), (b"HTTP://127.0.0.1:1/#0", b"")]
        key = items[0][0]
        entry = b"a" + struct.pack("<II", len(key), 1) + key + b"0"
        length = struct.pack("<I", len(entry))
        first = b"takt work list 1" + length + struct.pack("<II", zlib.crc32(length), zlib.crc32(entry)) + entry
        lists = [self.list_of(*what) for what in ((None, items), (b"letters", []), (b"letters", items))]
        for foreign in first, *lists:  # the first one is of version 0.1.0
            self.list.write_bytes(foreign)
            for more in [], [self.url]:
                self.expect(self.crawl(*more), 1, "was created by crawl 0.1.0 or by another program", "start another list")
                self.assertEqual(self.list.read_bytes(), foreign)
        self.list.write_bytes(self.list_of(b"takt crawl 1\ndepth 5\nany-host yes\nerror-status no\n", items))
        self.expect(self.crawl(), 3, "http://127.0.0.1:1/: was not added to the list by crawl",
                    "a letter: was not added to the list by crawl", "crawl: : was not added",
                    "HTTP://127.0.0.1:1/: was not added", "0 done, 4 left")

    def test_goes_on_with_the_hosts_and_the_depth_that_it_began_with(self):
        a = PagesServer(self, {"/late": "/more"})
        b = PagesServer(self, {"/": "/held", "/held": a.url + "/late"})
        b.held.add("/held")
        with subprocess.Popen([PROGRAMS / "crawl", "--list", self.list, "--delay", "0", "--depth", "2", a.url, b.url],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as p:
            b.await_asked("/held")
            code, said = self.interrupted(p)
        self.assertEqual(code, 3, said)
        b.go_on.set()
        self.expect(self.crawl(), 0, f"200 2 {a.url}/late", "4 done, 0 left")
        self.assertEqual(a.take_asked(), ["/", "/late"])

    def test_options_that_contradict_the_list(self):
        site, other = PagesServer(self, {}), PagesServer(self, {})
        self.expect(self.crawl("--depth", 3, site.url), 0, "1 done")
        self.expect(self.crawl("--depth", 4), 2, "--depth 4, but the list was created with --depth 3: start another list")
        for wrong in ["--host", other.host], [other.url], ["--any-host"]:
            self.expect(self.crawl(*wrong), 2, f"but the list was created with the hosts {site.host}: start another list")
        self.expect(self.crawl("--host", other.host), 2, f"the host {other.host}, but")
        for same in ["--depth", 3], ["--host", site.host], [site.url + "/new"], []:
            self.expect(self.crawl(*same), 0, "0 left")
        self.list.unlink()
        self.expect(self.crawl("--any-host", site.url), 0)
        self.expect(self.crawl("--any-host", other.url), 0, f"200 0 {other.url}/")
        self.list.write_bytes(b"")
        self.expect(self.crawl(), 2, "no URL, and no pages in the list")
        self.expect(self.crawl("--depth", 1, site.url), 0, "1 done")

    def test_the_shorter_path_wins(self):
        """X is 2 links away, but that path is found only after X was fetched by a path of 3 links."""
        for killed in False, True:
            with self.subTest(killed=killed):
                self.list.unlink(missing_ok=True)
                site = PagesServer(self, {"/": "/A /B", "/A": "/X", "/B": "/C", "/C": "/X", "/X": "/Y", "/Y": "/Z"})
                site.silent.add("/A")
                self.expect(self.crawl("--depth", 3, site.url), 3, f"200 3 {site.url}/X", f"{site.url}/A: ", "1 left")
                self.assertEqual(site.take_asked(), ["/", "/A", "/B", "/C", "/X"])
                site.silent.clear()
                if killed:
                    site.held.add("/X")
                    with subprocess.Popen([PROGRAMS / "crawl", "--list", self.list, "--delay", "0"],
                                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as p:
                        site.await_asked("/X")
                        p.kill()
                    site.go_on.set()
                    self.assertEqual(site.take_asked(), ["/A", "/X"])
                result = self.crawl()
                self.expect(result, 0, f"200 2 {site.url}/X", f"200 3 {site.url}/Y", "0 left")
                self.assertEqual(site.take_asked(), ["/X", "/Y"] if killed else ["/A", "/X", "/Y"])
                self.expect(self.crawl(), 0)
                self.assertEqual(site.take_asked(), [])

    def test_a_url_that_was_found_at_the_greatest_depth_before(self):
        site = PagesServer(self, {"/": "/A", "/A": "/B"})
        self.expect(self.crawl("--depth", 1, site.url), 0)
        self.assertEqual(site.take_asked(), ["/", "/A"])
        self.expect(self.crawl(site.url + "/A"), 0, f"200 0 {site.url}/A", f"200 1 {site.url}/B")
        self.expect(self.crawl(site.url + "/A"), 0)
        self.assertEqual(site.take_asked(), ["/A", "/B"])

    def test_limits_lose_nothing(self):
        links = [f"/{i}" for i in range(9)] + ["/" + "x" * 100]
        for option, small, large in (("--max-links", 4, 10), ("--max-pages", 5, 11), ("--max-url", 100, 200),
                                     ("--max-bytes", 80, 10_000)):
            with self.subTest(option):
                self.list.unlink(missing_ok=True)
                site = PagesServer(self, {"/": " ".join(links)})
                result = self.crawl(option, small, site.url)
                self.expect(result, 3, "links were skipped", f"{option} {small}", " 1 left")
                before = site.take_asked()
                self.assertGreater(len(before), 4)
                self.assertLess(len(before), 11)
                self.expect(self.crawl(option, small), 3, "links were skipped", " 1 left")  # reported again
                self.assertEqual(site.take_asked(), ["/"])
                self.expect(self.crawl(option, large), 0, "11 done, 0 left")
                self.assertEqual(sorted(set(before + site.take_asked())), sorted(["/"] + links))
        self.expect(self.crawl("--max-url", 20, site.url + "/" + "x" * 100), 2, "--max-url is 20")

    def test_limits_leave_out_no_url(self):
        site = PagesServer(self, {})
        urls = [site.url + path for path in ("/a", "/b", "/c")]
        self.expect(self.crawl("--max-pages", 2, *urls), 0, "3 done, 0 left")
        self.expect(self.crawl("--max-pages", 1, site.url + "/d"), 0, "4 done, 0 left")
        self.assertEqual(site.take_asked(), ["/a", "/b", "/c", "/d"])

    def test_more_workers_than_files_may_be_open(self):
        site = PagesServer(self, {"/": " ".join(f"/{i}" for i in range(60))})
        self.expect(self.crawl("--workers", 50, site.url, limit=files_at_most(100)), 2,
                    "fetching 50 pages at a time needs more open files", "(--workers, ulimit -n)")
        self.assertFalse(self.list.exists())
        self.expect(self.crawl(site.url, limit=files_at_most(45)), 0, "61 done, 0 left")
        self.list.unlink()
        self.expect(self.crawl("--workers", 7, site.url, limit=files_at_most(100)), 0, "61 done, 0 left")

    def test_limits_are_for_pages_whose_links_are_followed(self):
        site = PagesServer(self, {"/": " ".join(f"/{i}" for i in range(9))})
        self.expect(self.crawl("--depth", 0, "--max-links", 4, "--max-bytes", 50, site.url), 0, "(cut)", "1 done")

    def test_pages_that_answer_with_an_error(self):
        site = PagesServer(self, {"/": "/gone /held", "/held": "/" + "x" * 600, "/" + "x" * 600: "/broken"})
        site.status = {"/gone": 404, "/broken": 500}
        site.held.add("/held")
        with subprocess.Popen([PROGRAMS / "crawl", "--list", self.list, "--delay", "0", "--fail-on-error", site.url],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as p:
            out = [p.stdout.readline() for _ in range(2)]
            site.await_asked("/held")
            code, said = self.interrupted(p)
        self.assertEqual(out[1], f"404 1 {site.url}/gone linked from {site.url}/\n")
        self.assertEqual(code, 3, said)
        site.status.pop("/broken")
        site.go_on.set()
        self.expect(self.crawl(), 0, "0 left")
        self.expect(self.crawl("--fail-on-error"), 4, "0 left")  # the list stores the error
        self.list.unlink()
        self.expect(self.crawl(site.url + "/held", "--fail-on-error"), 0)
        self.list.unlink()
        site.status["/broken"] = 500
        long = f"{site.url}/{'x' * 600}"
        self.expect(self.crawl(site.url + "/held", "--fail-on-error"), 4,
                    f"500 2 {site.url}/broken linked from {long[:500]}...\n")

    def test_says_where_a_page_that_does_not_answer_was_found(self):
        site = PagesServer(self, {"/": "/silent"})
        site.silent.add("/silent")
        self.expect(self.crawl(site.url), 3, f"crawl: {site.url}/silent: ", f" linked from {site.url}/\n")

    def test_controls_no_terminal(self):
        site = PagesServer(self, {})
        site.bodies["/"] = '<a href="http://x\u009b2J\u202e.invalid/">'.encode()
        result = self.crawl("--any-host", "--timeout", 5, site.url)
        self.expect(result, 3, "http://x\\xC2\\x9B2j\\xE2\\x80\\xAE.invalid/: ")
        self.assertNotIn("\u009b", result.stdout + result.stderr)

    def test_pages_that_wait_for_years(self):
        site = PagesServer(self, {"/": " ".join(f"/{i}" for i in range(40))})
        self.expect(run("crawl", "--list", self.list, "--delay", 1_000_000_000, "--for", 1, site.url), 3, "1 done, 40 left")

    def test_an_output_that_nobody_reads(self):
        reading, writing = os.pipe()
        os.close(reading)
        with open(writing, "w") as closed:
            result = subprocess.run([PROGRAMS / "crawl", "--list", self.list, "--delay", "0", self.url + "/8"],
                                    stdout=closed, stderr=subprocess.PIPE, text=True, timeout=SECONDS)
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn("cannot write to the output: Broken pipe", result.stderr)
        self.expect(self.crawl(), 0, "/8", "/9", "2 done, 0 left")

    def test_progress_is_for_terminals(self):
        ours, theirs = pty.openpty()
        with subprocess.Popen([PROGRAMS / "crawl", "--list", self.list, "--delay", "0", self.url + "/slow", self.url + "/9"],
                              stdout=theirs, stderr=theirs) as p:
            os.close(theirs)
            said = b""
            while b"1 done, 1 in progress" not in said:
                said += os.read(ours, 1000)
            p.send_signal(signal.SIGINT)
            self.assertEqual(p.wait(SECONDS), 3)
            while b"run it again" not in said:
                said += os.read(ours, 1000)
        os.close(ours)
        self.assertIn(b"\r\x1b[K1 done, 1 in progress, 0 left", said)
        self.assertIn(b"\r\x1b[K200 0 " + self.url.encode(), said, "output lines clear the progress line")
        self.assertIn(b"\r\x1b[Kcrawl: 1 done, 1 left", said, "the summary clears the progress line")
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
