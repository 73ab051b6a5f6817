# docker build -t logreplay --build-arg VERSION=0.1.0 .      (docs/container.md)
FROM docker.io/library/python:3.13-slim
ARG VERSION=0.1.0
COPY . /src
RUN SETUPTOOLS_SCM_PRETEND_VERSION_FOR_LOGREPLAY_TOOLKIT=$VERSION pip install --no-cache-dir '/src[cluster,nginx,plots]' && rm -r /src
# matplotlib's cache: a user without a home may write here
ENV MPLCONFIGDIR=/tmp/matplotlib
WORKDIR /data
ENTRYPOINT ["logreplay"]
