"""Seals content with AES-256-GCM under keys derived from the one in the key file; `ports.Vault` for control."""

import hashlib
import hmac
import secrets

from berth.model.errors import Refused
from berth.model.stored import Content

NONCE_BYTES = 12
VERSION = b"\x01"


class AesVault:
    """One key for sealing and one for digests. Sealed bytes open only under the name that they were sealed for."""

    def __init__(self, key: bytes) -> None:
        self._sealing = _derived(key, b"berth seal 1")
        self._hashing = _derived(key, b"berth digest 1")
        self._mark = _derived(key, b"berth key 1").hex()[:8]

    def seal(self, content: Content, name: str) -> bytes:
        """Version, nonce, ciphertext and tag."""
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        nonce = secrets.token_bytes(NONCE_BYTES)
        return VERSION + nonce + AESGCM(self._sealing).encrypt(nonce, content.reveal(), name.encode())

    def unseal(self, sealed: bytes, name: str) -> Content:
        """The content. Raises Refused when it was sealed with another key, for another name, or was changed."""
        from cryptography.exceptions import InvalidTag
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        nonce, rest = sealed[1 : 1 + NONCE_BYTES], sealed[1 + NONCE_BYTES :]
        try:
            if sealed[:1] != VERSION:
                raise InvalidTag
            return Content(AESGCM(self._sealing).decrypt(nonce, rest, name.encode()))
        except (InvalidTag, ValueError) as error:
            raise Refused.of(
                "secret-unreadable",
                f"what is kept of {name} was encrypted with another key than the server has now.",
                "Put the file secret.key of that time back into the data folder, or create it again",
            ) from error

    def digest(self, content: Content) -> str:
        """KEY-HASH: which key it is, and a keyed hash (HMAC-SHA-256, 128 bits in hex) that is worthless without it."""
        return f"{self._mark}-{hmac.new(self._hashing, content.reveal(), hashlib.sha256).hexdigest()[:32]}"


def _derived(key: bytes, purpose: bytes) -> bytes:
    """A key of its own for each purpose (one block of HKDF-Expand, RFC 5869; the file's key is uniform already)."""
    return hmac.new(key, purpose + b"\x01", hashlib.sha256).digest()
