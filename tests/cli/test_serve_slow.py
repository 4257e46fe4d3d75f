"""calibrax serve beside clients that are slow on purpose: it waits for their time to pass, and so does this test."""
import http.client
import socket
import time

from harness import check, equal, main
from site_server import Server, fill


def slow_and_many_clients(p):
    fill(p, 3)
    with Server(p) as s:
        slow = []
        for k in range(100):
            c = socket.create_connection(("127.0.0.1", s.port), timeout=5)
            c.sendall(b"GET / HTTP/1.1\r\nHo" if k % 2 else b"")
            slow.append(c)
        begin = time.monotonic()
        equal(s.ask("/")[0], 200, "beside a hundred slow ones")
        check(time.monotonic() - begin < 5, "at once")
        reader = socket.create_connection(("127.0.0.1", s.port), timeout=5)  # asks much and reads nothing
        reader.sendall((f"GET /run?id=run0001 HTTP/1.1\r\nHost: 127.0.0.1:{s.port}\r\n\r\n" * 200).encode())
        equal(s.ask("/trends")[0], 200, "beside one that does not read")
        reader.close()
        time.sleep(11)
        closed = 0
        for c in slow:
            try:
                closed += c.recv(4096) in (b"",) or True
            except socket.timeout:
                pass
            except OSError:
                closed += 1
            c.close()
        equal(closed, 100, "idle ones are ended")
        many = []
        for _ in range(400):
            try:
                many.append(socket.create_connection(("127.0.0.1", s.port), timeout=1))
            except OSError:
                break
        for c in many:
            c.close()
        equal(s.ask("/")[0], 200, "after very many")
    equal(s.process.returncode, 0, "end")


def bytes_that_drip(p):
    """Connections that send a byte now and then are never idle: they end all the same, and others have their place."""
    fill(p, 3)
    with Server(p) as s:
        slow = [socket.create_connection(("127.0.0.1", s.port), timeout=10) for _ in range(128)]
        kept = http.client.HTTPConnection("127.0.0.1", s.port, timeout=20)
        begin, ended = time.monotonic(), set()
        while len(ended) < len(slow) and time.monotonic() - begin < 40:
            for k, c in enumerate(slow):
                try:
                    if k not in ended:
                        c.sendall(b"G" if k % 2 else b"GET / HTTP/1.1\r\nX: " if time.monotonic() - begin < 2 else b"x")
                except OSError:
                    ended.add(k)
            time.sleep(2)
        equal(len(ended), 128, "all of them ended")
        check(15 < time.monotonic() - begin, "not at once")
        begin = time.monotonic()
        for _ in range(4):  # a connection that asks again and again has the time for each
            kept.request("GET", "/")
            equal(len(kept.getresponse().read()) > 100, True, "a page")
            time.sleep(7)
        kept.close()
    equal(s.process.returncode, 0, "end")


main([slow_and_many_clients, bytes_that_drip])
