"""What somebody with a new credential can type to see that it works."""

import shlex


def curl(url: str, credential: str) -> str:
    """A line for a terminal that asks who the credential is, and changes nothing."""
    whoami = f"{url.rstrip('/')}/api/v1/whoami"
    return shlex.join(["curl", "-sS", whoami, "-H", f"Authorization: Bearer {credential}"])
