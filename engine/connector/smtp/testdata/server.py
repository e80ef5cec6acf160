"""A mail server in a process of its own: aiosmtpd, which keeps what it takes in a Maildir.

usage: server.py MAILDIR CERTIFICATE KEY implicit|starttls

It prints its port, and ends with its standard input. The login is `pawl` and the password in the environment variable
PASSWORD. A mail with the subject `die` ends it by SIGKILL, after the mail is kept and before it is answered.
"""

import asyncio
import os
import signal
import ssl
import sys

from aiosmtpd.handlers import Mailbox
from aiosmtpd.smtp import SMTP, AuthResult, LoginPassword


class Kept(Mailbox):
    async def handle_DATA(self, server, session, envelope):
        answer = await super().handle_DATA(server, session, envelope)
        if b"\nSubject: die\r\n" in envelope.content:
            os.kill(os.getpid(), signal.SIGKILL)
        return answer


def authenticate(server, session, envelope, mechanism, data):
    right = data == LoginPassword(b"pawl", os.environ["PASSWORD"].encode())
    return AuthResult(success=right, handled=right)  # not handled: it says no itself


async def serve(maildir, certificate, key, mode):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    handler = Kept(maildir)
    options = {"authenticator": authenticate, "auth_required": True, "hostname": "localhost"}
    if mode == "starttls":
        options |= {"tls_context": context, "require_starttls": True}
    else:
        options |= {"auth_require_tls": False}  # it does not see that the connection is encrypted
    loop = asyncio.get_running_loop()
    server = await loop.create_server(
        lambda: SMTP(handler, **options), "127.0.0.1", 0, ssl=context if mode == "implicit" else None
    )
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)
    server.close()


asyncio.run(serve(*sys.argv[1:]))
