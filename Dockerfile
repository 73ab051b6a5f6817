# docker build -t logreplay --build-arg VERSION=1.0.0 .      (docs/container.md)
# A tag may move: for a build that can be repeated, give the digest, --build-arg BASE=docker.io/library/python@sha256:...
ARG BASE=docker.io/library/python:3.13-slim
FROM $BASE
ARG VERSION=1.0.0
COPY . /src
RUN SETUPTOOLS_SCM_PRETEND_VERSION_FOR_LOGREPLAY_TOOLKIT=$VERSION \
    pip install --no-cache-dir -c /src/constraints.txt '/src[cluster,nginx]' && rm -r /src
# logreplay needs no rights of root; --user takes the place of this user
RUN useradd --uid 1000 --create-home logreplay && install -d -o logreplay /data
USER logreplay
# matplotlib's cache: a user without a home may write here
ENV MPLCONFIGDIR=/tmp/matplotlib
WORKDIR /data
ENTRYPOINT ["logreplay"]
