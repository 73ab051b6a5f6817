"""The built-in formats, each with the address of its specification."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from logreplay.parsers.fields.timestamps import Stamp
from logreplay.parsers.formats.format import Format
from logreplay.parsers.formats.json_writers import JSON_FORMATS
from logreplay.parsers.formats.log_format import MILLISECOND, Field, apache_format, nginx_format
from logreplay.parsers.formats.w3c import CLOUDFRONT_FIELDS, w3c_format

_NGINX_DOC: Final = "https://nginx.org/en/docs/http/ngx_http_log_module.html"
_APACHE_DOC: Final = "https://httpd.apache.org/docs/2.4/mod/mod_log_config.html"

_NGINX_COMBINED: Final = (
    '$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent"'
)
_APACHE_COMMON: Final = '%h %l %u %t "%r" %>s %b'
_APACHE_COMBINED: Final = _APACHE_COMMON + ' "%{Referer}i" "%{User-Agent}i"'


def _nginx(name: str, text: str, source: str = _NGINX_DOC) -> Format:
    return replace(nginx_format(text, name), source=source)


def _apache(name: str, text: str) -> Format:
    return replace(apache_format(text, name), source=_APACHE_DOC)


def _other(name: str, server: str, source: str, text: str, more: Mapping[str, Field], **changes: Any) -> Format:
    format = nginx_format(text, name, more=more)
    return replace(format, server=server, source=source, **changes)


_ISO_START: Final = Field("time", "iso", 5, stamp=Stamp("iso", "start", zone="UTC"))
_ISO_END: Final = Field("time", "iso", 5, stamp=Stamp("iso", "end", zone="UTC"))
_CLF_START: Final = Field("time", "clf", 5, stamp=Stamp("clf", "start"))
_PARTS: Final = r"-?[0-9.]+"
_SPENT: Final = {  # request, target and response time: their sum, and what lies before the first byte
    "times": Field("total", "shape", 5, shape=rf"(?P<first>{_PARTS} {_PARTS}) {_PARTS}"),
    "time": _ISO_END,
    "remote_addr": Field("client", "peer", 1),
    "status": Field("rc", "status"),
    "elb_request": Field("request", "absolute"),
}

_PIAS_STAMP: Final = Stamp(
    "pattern", pattern="%Y-%m-%d %H:%M:%S%.f|%d/%b/%Y %H:%M:%S%.f|%d-%b-%Y %H:%M:%S%.f|%Y-%b-%d %H:%M:%S%.f"
)

FORMATS: Final[tuple[Format, ...]] = (
    _nginx("nginx-combined-timed", _NGINX_COMBINED + " $request_time"),
    _nginx("nginx-combined-upstream", _NGINX_COMBINED + " $request_time $upstream_response_time"),
    _nginx("nginx-main-timed", _NGINX_COMBINED + ' "$http_x_forwarded_for" $request_time'),
    _nginx("nginx-common-timed", _NGINX_COMBINED.partition(' "$http_referer')[0] + " $request_time"),
    _nginx(
        "nginx-timed-kv",
        _NGINX_COMBINED
        + ' rt=$request_time uct="$upstream_connect_time" uht="$upstream_header_time" urt="$upstream_response_time"',
        source="https://docs.nginx.com/nginx/admin-guide/monitoring/logging/",
    ),
    _nginx(
        "nginx-ingress",
        _NGINX_COMBINED + " $request_length $request_time [$proxy_upstream_name] [$proxy_alternative_upstream_name] "
        "$upstream_addr $upstream_response_length $upstream_response_time $upstream_status $req_id",
        source="https://kubernetes.github.io/ingress-nginx/user-guide/nginx-configuration/log-format/",
    ),
    _apache("apache-combined-us", _APACHE_COMBINED + " %D"),
    _apache("apache-combined-s-us", _APACHE_COMBINED + " **%T/%D**"),
    _apache("apache-combined-s/us", _APACHE_COMBINED + " %T/%D"),
    _apache("apache-common-us", _APACHE_COMMON + " %D"),
    _apache("combined", _APACHE_COMBINED),
    _nginx("nginx-main", _NGINX_COMBINED + ' "$http_x_forwarded_for"'),
    _apache("combinedio", _APACHE_COMBINED + " %I %O"),
    _apache("common", _APACHE_COMMON),
    _apache("vhost_combined", '%v:%p %h %l %u %t "%r" %>s %O "%{Referer}i" "%{User-Agent}i"'),
    _apache("vhost-combined", "%v " + _APACHE_COMBINED.replace("%l", "-")),
    _other(
        "npm",
        "nginx",
        "https://github.com/NginxProxyManager/nginx-proxy-manager",
        "[$time_local] $upstream_cache_status $upstream_status $status - $request_method $scheme $host "
        '"$request_uri" [Client $remote_addr] [Length $body_bytes_sent] [Gzip $gzip_ratio] [Sent-to $server] '
        '"$http_user_agent" "$http_referer"',
        {},
    ),
    _other(
        "npm-direct",
        "nginx",
        "https://github.com/NginxProxyManager/nginx-proxy-manager",
        '[$time_local] $status - $request_method $scheme $host "$request_uri" [Client $remote_addr] '
        '[Length $body_bytes_sent] [Gzip $gzip_ratio] "$http_user_agent" "$http_referer"',
        {},
    ),
    _other(
        "npmplus",
        "nginx",
        "https://github.com/ZoeyVid/NPMplus",
        '[$time_local] $host $remote_addr $request_time "$request" $status $body_bytes_sent $bytes_sent '
        "$http_referer $http_user_agent",
        {},
    ),
    _other(
        "traefik-clf",
        "traefik",
        "https://doc.traefik.io/traefik/observability/access-logs/",
        _NGINX_COMBINED + ' $count "$router" "$backend" ${duration}ms',
        {"time_local": _CLF_START, "duration": Field("total", "int", 5, MILLISECOND)},
    ),
    _other(
        "aws-alb",
        "aws-alb",
        "https://docs.aws.amazon.com/elasticloadbalancing/latest/application/load-balancer-access-logs.html",
        "$type $time $elb $remote_addr $target $times $status $target_status $request_length $bytes_sent "
        '"$elb_request" "$http_user_agent" $more',
        _SPENT,
        escaped=False,
    ),
    _other(
        "aws-elb",
        "aws-elb",
        "https://docs.aws.amazon.com/elasticloadbalancing/latest/classic/access-log-collection.html",
        "$time $elb $remote_addr $target $times $status $target_status $request_length $body_bytes_sent "
        '"$elb_request" "$http_user_agent" $cipher $tls',
        {**_SPENT, "time": _ISO_START},
        escaped=False,
        skipped=((r"^tls [0-9.]+ [0-9-]+T", "TLS listener: no HTTP"),),
    ),
    _other(
        "aws-s3",
        "aws-s3",
        "https://docs.aws.amazon.com/AmazonS3/latest/userguide/LogFormat.html",
        '$owner $host [$time_local] $remote_addr $remote_user $id $operation $key "$request" $status $error '
        '$body_bytes_sent $size $total $turnaround "$http_referer" "$http_user_agent" $more',
        {
            "time_local": _CLF_START,
            "total": Field("total", "int", 5, MILLISECOND),
            "turnaround": Field("first", "int", 5, MILLISECOND),
        },
    ),
    _other(
        "haproxy",
        "haproxy",
        "https://docs.haproxy.org/2.8/configuration.html#8.2.3",
        "$remote_addr [$accept] $frontend $backend $phases/$total $status $bytes $request_cookie $response_cookie "
        '$termination $connections $queues$headers "$request"',
        {
            "remote_addr": Field("client", "peer", 1),
            "accept": Field(
                "time",
                "shape",
                5,
                stamp=Stamp("pattern", "start", pattern="%d/%b/%Y:%H:%M:%S%.3f"),
                shape=r"[0-9]{2}/[A-Z][a-z]{2}/[0-9]{4}:[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}",
            ),
            "phases": Field("first", "shape", 5, MILLISECOND, shape=r"-?[0-9]+/-?[0-9]+/-?[0-9]+/-?[0-9]+"),
            "total": Field("total", "shape", 5, MILLISECOND, shape=r"\+?-?[0-9]+"),
            "status": Field("rc", "shape", shape=r"-?[0-9]+"),
            "bytes": Field("bytes", "shape", shape=r"\+?[0-9]+"),
            "connections": Field("", "shape", shape=r"[0-9+/]+"),
            "queues": Field("", "shape", shape=r"[0-9]+/[0-9]+"),
            "headers": Field("", "shape", shape=r"(?: \{.*\})*"),
        },
        escaped=False,
        note="HAProxy's byte counts include headers",
    ),
    _other(
        "squid",
        "squid",
        "https://wiki.squid-cache.org/Features/LogFormat",
        "$msec$pad$duration $remote_addr $result/$status $bytes $op $url $remote_user $peer $type",
        {
            "pad": Field("", "shape", shape=r" +"),
            "duration": Field("total", "int", 5, MILLISECOND),
            "result": Field("", "shape", shape=r"[A-Z_]+"),
            "status": Field("rc", "shape", shape=r"[0-9]{1,3}"),
            "bytes": Field("bytes", "int"),
            "op": Field("op", "shape", shape=r"[-!#$%&'*+.^_`|~0-9A-Za-z]+"),
            "url": Field("url", "shape", 5, shape=r"[^ ]+"),
        },
        escaped=False,
        note="Squid's byte counts include headers",
    ),
    _other(
        "envoy",
        "envoy",
        "https://www.envoyproxy.io/docs/envoy/latest/configuration/observability/access_log/usage",
        '[$start] "$request" $status $flags $request_length $body_bytes_sent $duration $service "$forwarded" '
        '"$http_user_agent" "$id" "$host" "$upstream"',
        {
            "start": _ISO_START,
            "duration": Field("total", "int", 5, MILLISECOND),
            "service": Field("first", "int", 5, MILLISECOND),
            "forwarded": Field("client"),
        },
        escaped=False,
    ),
    _other(
        "atlassian",
        "tomcat",
        "https://confluence.atlassian.com/doc/configure-access-logs-1044780567.html",
        "[$time_local] $remote_user $thread $remote_addr $request_method $request_uri $server_protocol $status "
        "${duration}ms $body_bytes_sent $http_referer $http_user_agent",
        {"duration": Field("total", "int", 5, MILLISECOND)},
        escaped=False,
    ),
    _other(
        "bitbucket",
        "bitbucket",
        "https://confluence.atlassian.com/bitbucketserverkb/how-to-read-the-bitbucket-data-center-log-formats-779171668.html",
        '$remote_addr | $scheme | $record | $remote_user | $when | "$request" | "$http_referer" "$http_user_agent" | '
        "$status | $request_length | $body_bytes_sent | $labels | $duration | $session |$more",
        {
            "record": Field("", "shape", shape=r"(?:o[@*][^ ]*|-)"),
            "when": Field("time", "iso", 5, stamp=Stamp("iso", "end")),
            "duration": Field("total", "int", 5, MILLISECOND),
        },
        escaped=False,
        skipped=((r"^[^|]*\| [a-z]+ \| i[@*]", "logged on arrival; its response has a line of its own"),),
    ),
    *JSON_FORMATS,
    replace(
        w3c_format(CLOUDFRONT_FIELDS.split(), "\t", "cloudfront"),
        source="https://docs.aws.amazon.com/AmazonCloudFront/latest/DeveloperGuide/standard-logs-reference.html",
    ),
    _other(
        "pias",
        "play-it-again-sam",
        "https://github.com/davecb/Play-it-Again-Sam",
        "$when $spent $sleep $body_bytes_sent $url $status $op$more",
        {
            "when": Field(
                "time", "shape", 5, stamp=_PIAS_STAMP, shape=r"[0-9]{2,4}[-/]\w{2,3}[-/][0-9]{2,4}[ \t,][0-9:.]+"
            ),
            "spent": Field("total", "shape", 5, shape=r"(?P<first>[0-9][-+.0-9eE]*)[ \t,][0-9][-+.0-9eE]*"),
            "sleep": Field("", "shape", shape=r"[0-9][-+.0-9eE]*"),
            "url": Field("url", "shape", 5, shape=r"[^ \t]+"),
            "status": Field("rc", "shape", shape=r"-?[0-9]+"),
            "op": Field("op", "shape", shape=r"[A-Z]+"),
            "more": Field("", "shape", shape=r"(?:[ \t].*)?"),
        },
        escaped=False,
        comments=True,
        rooted=True,
    ),
    _other(
        "urls",
        "url list",
        "https://www.joedog.org/siege-manual/",
        "$url",
        {"url": Field("url", "shape", 5, shape=r"(?:https?://[^/ \t]+)?/[^ \t]*")},
        escaped=False,
        comments=True,
    ),
)
"""In the order in which they are tried: of two that fit a sample equally well, the first is taken."""
