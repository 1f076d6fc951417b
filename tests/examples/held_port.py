"""A port of loopback for a server that must be told one: nobody else is given it as long as the object lives.

A port that is free when it is looked for may be taken when it is used. Here it stays bound, without listening and with
SO_REUSEADDR: a server that asks for this very port, with that option as mfl does, may listen on it, once or several times."""
import socket


class HeldPort:
    def __init__(self):
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(("127.0.0.1", 0))
        self.number = self.socket.getsockname()[1]

    def __enter__(self):
        return self

    def __exit__(self, *ignored):
        self.socket.close()
