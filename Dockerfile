# docker build -t logreplay --build-arg VERSION=1.0.0 .      (docs/container.md)
# A tag may move: for a build that can be repeated, give the digest, --build-arg BASE=docker.io/library/python@sha256:...
ARG BASE=docker.io/library/python:3.13-slim
FROM $BASE AS build
# hdrhistogram has no wheel for arm64; the compiler stays out of the image
RUN apt-get update && apt-get install -y --no-install-recommends gcc libc6-dev
ARG VERSION=1.0.0
COPY . /src
RUN python3 -m venv /opt/logreplay && SETUPTOOLS_SCM_PRETEND_VERSION_FOR_LOGREPLAY_TOOLKIT=$VERSION \
    /opt/logreplay/bin/pip install --no-cache-dir -c /src/constraints.txt '/src[cluster,nginx]'

FROM $BASE
ARG VERSION=1.0.0
LABEL org.opencontainers.image.title=logreplay org.opencontainers.image.licenses=MIT org.opencontainers.image.version=$VERSION
COPY --from=build /opt/logreplay /opt/logreplay
# logreplay needs no rights of root; --user takes the place of this user
RUN useradd --uid 1000 --create-home logreplay && install -d -o logreplay /data
# a number: Kubernetes (runAsNonRoot) does not look names up
USER 1000
# matplotlib's cache: a user without a home may write here
ENV MPLCONFIGDIR=/tmp/matplotlib PATH=/opt/logreplay/bin:$PATH
WORKDIR /data
ENTRYPOINT ["logreplay"]
