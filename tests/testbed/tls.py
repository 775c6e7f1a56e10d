"""A certificate authority for one daemon, made by openssl, its files named as docker clients expect."""

from pathlib import Path

from .processes import run

DAYS = "30"
SUBJECT = ("-subj", "/CN=testbed")


def daemon_settings(folder: Path, address: str) -> dict[str, object]:
    """Make certificates for a daemon at this address and return its keys of daemon.json.

    Afterwards `folder` serves a client as DOCKER_CERT_PATH: ca.pem, cert.pem and key.pem.
    """
    folder.mkdir()
    _authority(folder)
    _sign(folder, "server-", f"subjectAltName=IP:{address},IP:127.0.0.1\nextendedKeyUsage=serverAuth\n")
    _sign(folder, "", "extendedKeyUsage=clientAuth\n")
    return {
        "tlsverify": True,
        "tlscacert": str(folder / "ca.pem"),
        "tlscert": str(folder / "server-cert.pem"),
        "tlskey": str(folder / "server-key.pem"),
    }


def _authority(folder: Path) -> None:
    key = _key(folder / "ca-key.pem")
    _openssl("req", "-new", "-x509", "-key", key, "-out", folder / "ca.pem", "-days", DAYS, *SUBJECT)


def _sign(folder: Path, role: str, extensions: str) -> None:
    request, wanted = folder / f"{role}request.pem", folder / "extensions"
    wanted.write_text(extensions)
    key = _key(folder / f"{role}key.pem")
    _openssl("req", "-new", "-key", key, "-out", request, "-subj", f"/CN={role or 'client'}")
    signer = (
        "-CA",
        folder / "ca.pem",
        "-CAkey",
        folder / "ca-key.pem",
        "-CAcreateserial",
        "-extfile",
        wanted,
    )
    _openssl("x509", "-req", "-in", request, *signer, "-days", DAYS, "-out", folder / f"{role}cert.pem")


def _key(file: Path) -> Path:
    _openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", file)
    return file


def _openssl(*words: str | Path) -> None:
    run(["openssl", *words])
