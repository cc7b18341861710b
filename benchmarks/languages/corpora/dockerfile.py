"""Dockerfiles: those of this machine, then generated ones with every instruction, continued lines and comments."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from languages.corpora import files
from languages.corpora.writing import word

COMMANDS = (
    "RUN apt-get update && \\\n    # a comment\n    apt-get install -y curl \\\n\n && rm -rf /var/lib/apt/lists/*",
    'RUN ["/bin/sh", "-c", "echo hi"]',
    "run --mount=type=cache,target=/root/.cache pip install -r requirements.txt",
    'CMD ["python", "app.py"]',
    "ENTRYPOINT exec top -b",
    'LABEL version="1.0" com.example.vendor="A \\"B\\"" \\\n      description=\'x y\'',
    "LABEL maintainer someone",
    "ENV PATH=/usr/bin:$PATH A=b\\ c D=",
    "ENV KEY a value with spaces",
    "EXPOSE 80 443/tcp 8000-8010/udp ${PORT}",
    "ADD --chown=me:me https://example.com/a.tar.gz /tmp/",
    "COPY --from=build /app/bin ./",
    'COPY ["a file.txt", "/b/"]',
    "VOLUME /data /log",
    'VOLUME ["/data"]',
    "USER app:app",
    "WORKDIR /the/work dir",
    "ARG VERSION=1.2 NAME",
    "ONBUILD COPY . /app",
    "STOPSIGNAL SIGTERM",
    "HEALTHCHECK --interval=5m --timeout=3s CMD curl -f http://localhost/ || exit 1",
    "HEALTHCHECK NONE",
    'SHELL ["powershell", "-command"]',
    "MAINTAINER someone <a@b.c>",
    "# a comment",
    "",
    "   ",
)


def texts(random: Random, limit: int) -> Iterator[tuple[str, bytes]]:
    """Files first; those with heredocs are left out, as the grammar has none."""
    for path in files("Dockerfile*", random)[:limit]:
        if path.suffix in ("", ".dev", ".prod") and b"<<" not in path.read_bytes():
            yield path.as_posix(), path.read_bytes()
    for index in range(limit):
        yield f"generated {index}", _file(random).encode()


def _file(random: Random) -> str:
    end = random.choice(("\n", "\n", "\r\n"))
    lines = random.choice(([], ["# syntax=docker/dockerfile:1"], ["", "ARG BASE=debian:12"]))
    for index in range(random.randrange(1, 3)):
        platform = random.choice(("", "--platform=linux/amd64 "))
        image = random.choice(("scratch", "a/b:1.2@sha256:ab", "${BASE}"))
        name = random.choice(("", f" AS {word(random)}{index}"))
        lines = [*lines, f"FROM {platform}{image}{name}"]
        chosen = random.choices(COMMANDS, k=random.randrange(8))
        lines += [random.choice(("", "", "", "  ", "\t")) + each for each in chosen]
    return "\n".join(lines).replace("\n", end) + random.choice(("", end, end + end))
