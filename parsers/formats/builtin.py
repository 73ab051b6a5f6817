"""The built-in formats, each with the address of its specification and lines that it must fit."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from logreplay.parsers.fields.timestamps import Stamp
from logreplay.parsers.formats.format import Format
from logreplay.parsers.formats.json_lines import json_format
from logreplay.parsers.formats.log_format import MILLISECOND, Field, apache_format, nginx_format
from logreplay.parsers.formats.w3c import CLOUDFRONT_FIELDS, w3c_format

_NGINX_DOC: Final = "https://nginx.org/en/docs/http/ngx_http_log_module.html"
_APACHE_DOC: Final = "https://httpd.apache.org/docs/2.4/mod/mod_log_config.html"

_NGINX_COMBINED: Final = (
    '$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent"'
)
_APACHE_COMMON: Final = '%h %l %u %t "%r" %>s %b'
_APACHE_COMBINED: Final = _APACHE_COMMON + ' "%{Referer}i" "%{User-Agent}i"'
_IN_COMBINED: Final = '[20/Nov/2026:18:58:56 +0100] "GET /a?b=c HTTP/1.1" 200 17 "-" "curl/8.5.0"'


def _nginx(name: str, text: str, *samples: str, source: str = _NGINX_DOC) -> Format:
    return replace(nginx_format(text, name), source=source, samples=samples)


def _apache(name: str, text: str, *samples: str, source: str = _APACHE_DOC) -> Format:
    return replace(apache_format(text, name), source=source, samples=samples)


def _other(
    name: str, server: str, source: str, text: str, more: Mapping[str, Field], *samples: str, **changes: Any
) -> Format:
    format = nginx_format(text, name, "default", more)
    return replace(format, server=server, source=source, samples=samples, **changes)


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
    "pattern",
    pattern="%Y-%m-%d %H:%M:%S%.f|%d/%b/%Y %H:%M:%S%.f|%d-%b-%Y %H:%M:%S%.f|%Y-%b-%d %H:%M:%S%.f",
)

FORMATS: Final[tuple[Format, ...]] = (
    _nginx(
        "nginx-combined-timed",
        _NGINX_COMBINED + " $request_time",
        f"10.0.0.7 - - {_IN_COMBINED} 0.061",
        '::1 - bob smith [20/Nov/2026:18:58:56 +0100] "" 408 0 "-" "-" 2.002',
    ),
    _nginx(
        "nginx-combined-upstream",
        _NGINX_COMBINED + " $request_time $upstream_response_time",
        f"10.0.0.7 - - {_IN_COMBINED} 0.061 0.060",
        f"10.0.0.7 - - {_IN_COMBINED} 0.061 0.001, 0.060 : -",
    ),
    _nginx(
        "nginx-main-timed",
        _NGINX_COMBINED + ' "$http_x_forwarded_for" $request_time',
        f'::1 - - {_IN_COMBINED} "-" 0.100',
    ),
    _nginx(
        "nginx-common-timed",
        _NGINX_COMBINED.partition(' "$http_referer')[0] + " $request_time",
        f"10.0.0.7 - - {_IN_COMBINED[:-17]} 0.061",
    ),
    _nginx(
        "nginx-timed-kv",
        _NGINX_COMBINED
        + ' rt=$request_time uct="$upstream_connect_time" uht="$upstream_header_time" urt="$upstream_response_time"',
        f'10.0.0.7 - - {_IN_COMBINED} rt=0.041 uct="0.000, 0.001" uht="-, 0.020" urt="0.001, 0.040"',
        source="https://docs.nginx.com/nginx/admin-guide/monitoring/logging/",
    ),
    _nginx(
        "nginx-ingress",
        _NGINX_COMBINED + " $request_length $request_time [$proxy_upstream_name] [$proxy_alternative_upstream_name] "
        "$upstream_addr $upstream_response_length $upstream_response_time $upstream_status $req_id",
        f"10.0.0.7 - - {_IN_COMBINED} 87 0.041 [web-80] [] 10.1.0.3:80, 10.1.0.4:80 0, 17 0.001, 0.040 502, 200 5f2a",
        source="https://kubernetes.github.io/ingress-nginx/user-guide/nginx-configuration/log-format/",
    ),
    _apache(
        "apache-combined-us",
        _APACHE_COMBINED + " %D",
        f"10.0.0.7 - - {_IN_COMBINED} 41234",
    ),
    _apache("apache-combined-s-us", _APACHE_COMBINED + " **%T/%D**", f"10.0.0.7 - - {_IN_COMBINED} **0/41234**"),
    _apache("apache-combined-s/us", _APACHE_COMBINED + " %T/%D", f"10.0.0.7 - - {_IN_COMBINED} 0/41234"),
    _apache("apache-common-us", _APACHE_COMMON + " %D", f"10.0.0.7 - - {_IN_COMBINED[:-17]} 41234"),
    _apache(
        "combined",
        _APACHE_COMBINED,
        f"10.0.0.7 - - {_IN_COMBINED}",
        r'10.0.0.7 - ev\"il] [x [20/Nov/2026:18:59:15 +0100] "-" 408 - "-" "\"quoted\" \\"',
        r'10.0.0.7 - ev\x22il] [x [20/Nov/2026:18:59:15 +0100] "\x16\x03\x01" 400 157 "-" "-"',
    ),
    _nginx(
        "nginx-main", _NGINX_COMBINED + ' "$http_x_forwarded_for"', f'10.0.0.7 - - {_IN_COMBINED} "10.9.8.7, 10.0.0.1"'
    ),
    _apache("combinedio", _APACHE_COMBINED + " %I %O", f"10.0.0.7 - - {_IN_COMBINED} 126 641"),
    _apache("common", _APACHE_COMMON, f"10.0.0.7 - - {_IN_COMBINED[:-17]}"),
    _apache(
        "vhost_combined",
        '%v:%p %h %l %u %t "%r" %>s %O "%{Referer}i" "%{User-Agent}i"',
        f"lab.example:80 10.0.0.7 - - {_IN_COMBINED}",
    ),
    _apache("vhost-combined", "%v " + _APACHE_COMBINED.replace("%l", "-"), f"lab.example 10.0.0.7 - - {_IN_COMBINED}"),
    _other(
        "npm",
        "nginx",
        "https://github.com/NginxProxyManager/nginx-proxy-manager",
        "[$time_local] $upstream_cache_status $upstream_status $status - $request_method $scheme $host "
        '"$request_uri" [Client $remote_addr] [Length $body_bytes_sent] [Gzip $gzip_ratio] [Sent-to $server] '
        '"$http_user_agent" "$http_referer"',
        {},
        '[24/Jan/2022:16:51:02 +0000] - 404 404 - GET http a.example "/x?y" [Client 10.0.0.7] [Length 192] '
        '[Gzip 3.10] [Sent-to web] "curl/8.5.0" "-"',
    ),
    _other(
        "npm-direct",
        "nginx",
        "https://github.com/NginxProxyManager/nginx-proxy-manager",
        '[$time_local] $status - $request_method $scheme $host "$request_uri" [Client $remote_addr] '
        '[Length $body_bytes_sent] [Gzip $gzip_ratio] "$http_user_agent" "$http_referer"',
        {},
        '[24/Jan/2022:13:40:19 +0000] 444 - GET https 10.0.0.1 "/.env" [Client 10.0.0.7] [Length 0] [Gzip -] "x y" "-"',
    ),
    _other(
        "npmplus",
        "nginx",
        "https://github.com/ZoeyVid/NPMplus",
        '[$time_local] $host $remote_addr $request_time "$request" $status $body_bytes_sent $bytes_sent '
        "$http_referer $http_user_agent",
        {},
        '[24/Jan/2022:13:40:19 +0000] a.example 10.0.0.7 0.004 "GET /x HTTP/2.0" 200 17 212 - Mozilla/5.0 (X11; Linux)',
    ),
    _other(
        "traefik-clf",
        "traefik",
        "https://doc.traefik.io/traefik/observability/access-logs/",
        _NGINX_COMBINED + ' $count "$router" "$backend" ${duration}ms',
        {"time_local": _CLF_START, "duration": Field("total", "int", 5, MILLISECOND)},
        '10.0.0.7 - - [24/Nov/2024:13:40:15 +0000] "GET /x HTTP/2" 200 450 "-" "curl/8.5.0" 300 '
        '"a@docker -> b@docker" "http://172.17.0.4:80" 25ms',
        '10.0.0.7 - - [28/Sep/2022:13:38:04 +0000] "GET /x HTTP/1.1" - - "-" "Nikto" 456 "-" "-" 0ms',
    ),
    _other(
        "aws-alb",
        "aws-alb",
        "https://docs.aws.amazon.com/elasticloadbalancing/latest/application/load-balancer-access-logs.html",
        "$type $time $elb $remote_addr $target $times $status $target_status $request_length $bytes_sent "
        '"$elb_request" "$http_user_agent" $more',
        _SPENT,
        "https 2023-04-26T12:23:00.186641Z app/lb/94aa 10.0.0.7:44740 10.1.0.1:80 0.086 0.048 0.037 200 200 0 57 "
        '"GET https://www.example.com:443/robots.txt HTTP/1.1" "curl/8.5.0" ECDHE TLSv1.2 arn "Root=1" "-" "-" 1 x',
        "http 2023-04-26T19:53:46.679895Z app/lb/94aa 10.0.0.7:44740 - -1 -1 -1 404 - 204 167 "
        '"- http://www.example.com:80- -" "-" - - - "-" "-" "-" 0 x',
        escaped=False,
    ),
    _other(
        "aws-elb",
        "aws-elb",
        "https://docs.aws.amazon.com/elasticloadbalancing/latest/classic/access-log-collection.html",
        "$time $elb $remote_addr $target $times $status $target_status $request_length $bytes_sent "
        '"$elb_request" "$http_user_agent" $cipher $tls',
        _SPENT,
        "2021-05-13T23:39:43.945958Z lb 10.0.0.7:2817 10.1.0.1:80 0.000073 0.001048 0.000057 200 200 0 29 "
        '"GET http://www.example.com:80/ HTTP/1.1" "curl/8.5.0" - -',
        '2021-05-13T23:39:45.945958Z lb 10.0.0.7:2817 10.1.0.1:80 0.001 0.0 0.0 - - 82 305 "- - - " "-" - -',
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
        '79a5 bucket [05/Oct/2012:15:24:46 +0000] 10.0.0.7 - CE74 REST.GET.OBJECT a/b.jpg "GET /bucket/a/b.jpg '
        'HTTP/1.1" 200 - 9515 9515 42 41 "-" "curl/8.5.0" -',
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
        "10.0.0.7:33317 [06/Feb/2009:12:14:14.655] http-in static/srv1 10/0/30/69/109 200 2750 - - ---- "
        '1/1/1/1/0 0/0 {1wt.eu} {} "GET /index.html HTTP/1.1"',
        "10.0.0.7:33317 [06/Feb/2009:12:14:14.655] http-in http-in/<NOSRV> -1/-1/-1/-1/5 400 187 - - PR-- "
        '1/1/0/0/0 0/0 "<BADREQ>"',
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
        "1792531200.123    345 10.0.0.7 TCP_MISS/200 5123 GET http://www.example.com/a?b=c - HIER_DIRECT/10.1.0.1 -",
        "1792531201.004     12 10.0.0.7 TCP_DENIED/403 3898 CONNECT www.example.com:443 joe HIER_NONE/- text/html",
        "1792531202.500      0 10.0.0.7 NONE/000 0 NONE error:transaction-end-before-headers - HIER_NONE/- -",
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
        '[2016-04-15T20:17:00.310Z] "POST /api HTTP/2" 204 - 154 0 226 100 "10.0.35.28" "x" "cc21" "a.example" "tcp://b:80"',
        '[2016-04-15T20:17:00.310Z] "GET /api HTTP/1.1" 0 DC 154 0 226 - "-" "x" "cc21" "a.example" "-"',
        escaped=False,
    ),
    _other(
        "atlassian",
        "tomcat",
        "https://confluence.atlassian.com/doc/configure-access-logs-1044780567.html",
        "[$time_local] $remote_user $thread $remote_addr $request_method $request_uri $server_protocol $status "
        "${duration}ms $body_bytes_sent $http_referer $http_user_agent",
        {"duration": Field("total", "int", 5, MILLISECOND)},
        "[17/Jun/2021:12:57:26 +0200] user http-nio-8080-exec-6 10.0.0.7 GET /index.action HTTP/1.1 200 1020ms 7881 "
        "http://localhost/ Mozilla/5.0 (Macintosh; Intel Mac OS X)",
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
        "10.0.0.7,10.0.0.1 | https | o@9K7Z3NNx6x3112x1 | joe | 2012-10-29 00:06:26,838 | "
        '"GET /a.git/info/refs HTTP/1.1" | "" "git/1.7.4.1" | 200 | 13 | 0 | refs, cache:hit | 101 | tmpqqw | ',
        escaped=False,
        skipped=((r"^[^|]*\| [a-z]+ \| i[@*]", "logged when it came in; its answer is a line of its own"),),
    ),
    *(json_format(name) for name in ("caddy", "traefik", "envoy-json")),
    replace(
        w3c_format(CLOUDFRONT_FIELDS.split(), "\t", "cloudfront"),
        source="https://docs.aws.amazon.com/AmazonCloudFront/latest/DeveloperGuide/standard-logs-reference.html",
        samples=(
            "2024-03-12\t15:22:28\tCDG50-P2\t703\t10.0.0.7\tGET\td1.cloudfront.net\t/a\t400\t-\tcurl/8.5.0\tq=42\t-\tError"
            "\t375W==\ta.example\thttps\t62\t0.113\t-\tTLSv1.3\tTLS_AES\tError\tHTTP/2.0\t-\t-\t51754\t0.113\tError"
            "\ttext/plain\t20\t-\t-",
        ),
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
        "2018-01-19 16:17:56.264 0.012072 0.000120 0 8478 /a.jpg 200 GET",
        "09/Nov/2017 13:12:44 0 0 0 122944 a.jpg 200 GET 20  expectedRC=200",
        "2017-Nov-28 06:54:52 0 0 0 12578 /81eae740 404 GET",
        escaped=False,
        rooted=True,
    ),
    _other(
        "urls",
        "url list",
        "https://www.joedog.org/siege-manual/",
        "$url",
        {"url": Field("url", "shape", 5, shape=r"(?:https?://[^/ \t]+)?/[^ \t]*")},
        "/a?b=c",
        "http://www.example.com/a",
        escaped=False,
    ),
)
"""In the order in which they are tried: of two that fit a sample equally well the first counts."""
