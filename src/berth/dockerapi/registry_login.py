"""Credentials of a registry (an X-Registry-Auth value) and the header that they earn there: basic, or a token."""

import base64
import binascii
import re
from collections.abc import Mapping

import aiohttp
import msgspec

from berth.model.registry import registry_of

_PARAMETER = re.compile(r'(\w+)="([^"]*)"')
CLIENT = "berth"


class Unanswered(Exception):
    """A registry, or who gives its tokens, answered with another HTTP status than 200: `status`, or 0 for one that says
    nothing of the image.
    """

    def __init__(self, status: int, said: str) -> None:
        super().__init__(said)
        self.status = status


class Login(msgspec.Struct, frozen=True):
    """What `docker login` kept for one registry; all "" for nobody. Never shown, never logged."""

    username: str = ""
    password: str = ""
    identitytoken: str = ""
    serveraddress: str = ""

    def is_for(self, registry: str) -> bool:
        """True when these credentials were kept for that registry; any other one is not to learn them."""
        written = self.serveraddress.partition("://")[2] or self.serveraddress
        return not written or registry_of(f"{written.partition('/')[0]}/any") == registry

    def __repr__(self) -> str:
        return "Login(...)"


class _Token(msgspec.Struct):
    token: str = ""
    access_token: str = ""


def login_of(auth: str) -> Login:
    """The credentials in an X-Registry-Auth value; nobody's for "" and for what cannot be read."""
    try:
        return msgspec.json.decode(base64.urlsafe_b64decode(auth + "=" * (-len(auth) % 4)), type=Login)
    except (binascii.Error, ValueError, msgspec.MsgspecError):
        return Login()


async def authorised(session: aiohttp.ClientSession, asked: str, login: Login) -> Mapping[str, str]:
    """The Authorization header that answers a registry's WWW-Authenticate; none when there is nothing to answer with.
    Raises what the network raises.
    """
    scheme = asked.partition(" ")[0].lower()
    if scheme == "basic":
        return {"Authorization": _basic(login)} if login.username else {}
    if scheme != "bearer":
        return {}
    said = dict(_PARAMETER.findall(asked))
    token = await _token(session, said.pop("realm", ""), said, login)
    return {"Authorization": f"Bearer {token}"} if token else {}


async def _token(session: aiohttp.ClientSession, realm: str, asked: Mapping[str, str], login: Login) -> str:
    """A token for the asked scope; "" where the realm gives none to these credentials. Raises Unanswered where it is in
    trouble, so that nobody takes that for a no.
    """
    if not realm.startswith(("https://", "http://")):
        return ""
    about = {name: asked[name] for name in ("service", "scope") if name in asked}
    if login.identitytoken:
        form = {**about, "grant_type": "refresh_token", "refresh_token": login.identitytoken, "client_id": CLIENT}
        asking = session.post(realm, data=form)
    else:
        headers = {"Authorization": _basic(login)} if login.username else {}
        asking = session.get(realm, params=about, headers=headers)
    async with asking as answer:
        if answer.status in (401, 403):
            return ""
        if answer.status != 200:
            raise Unanswered(0, f"HTTP {answer.status} from {realm}")
        given = msgspec.json.decode(await answer.content.read(1 << 20), type=_Token)
    return given.token or given.access_token


def _basic(login: Login) -> str:
    return "Basic " + base64.b64encode(f"{login.username}:{login.password}".encode()).decode()
