"""Keeps secrets at rest: a key in a file beside the database, and what is sealed with it; main hands it to control."""

from berth.vault.aes import AesVault
from berth.vault.keyfile import read_or_make

__all__ = ["AesVault", "read_or_make"]
