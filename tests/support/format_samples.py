"""Lines that each built-in format must fit, by its name."""

from typing import Final

_IN_COMBINED: Final = '[20/Nov/2026:18:58:56 +0100] "GET /a?b=c HTTP/1.1" 200 17 "-" "curl/8.5.0"'

SAMPLES: Final[dict[str, tuple[str, ...]]] = {
    "nginx-combined-timed": (
        f"10.0.0.7 - - {_IN_COMBINED} 0.061",
        '::1 - bob smith [20/Nov/2026:18:58:56 +0100] "" 408 0 "-" "-" 2.002',
    ),
    "nginx-combined-upstream": (
        f"10.0.0.7 - - {_IN_COMBINED} 0.061 0.060",
        f"10.0.0.7 - - {_IN_COMBINED} 0.061 0.001, 0.060 : -",
    ),
    "nginx-main-timed": (f'::1 - - {_IN_COMBINED} "-" 0.100',),
    "nginx-common-timed": (f"10.0.0.7 - - {_IN_COMBINED[:-17]} 0.061",),
    "nginx-timed-kv": (f'10.0.0.7 - - {_IN_COMBINED} rt=0.041 uct="0.000, 0.001" uht="-, 0.020" urt="0.001, 0.040"',),
    "nginx-ingress": (
        f"10.0.0.7 - - {_IN_COMBINED} 87 0.041 [web-80] [] 10.1.0.3:80, 10.1.0.4:80 0, 17 0.001, 0.040 502, 200 5f2a",
    ),
    "apache-combined-us": (f"10.0.0.7 - - {_IN_COMBINED} 41234",),
    "apache-combined-s-us": (f"10.0.0.7 - - {_IN_COMBINED} **0/41234**",),
    "apache-combined-s/us": (f"10.0.0.7 - - {_IN_COMBINED} 0/41234",),
    "apache-common-us": (f"10.0.0.7 - - {_IN_COMBINED[:-17]} 41234",),
    "combined": (
        f"10.0.0.7 - - {_IN_COMBINED}",
        r'10.0.0.7 - ev\"il] [x [20/Nov/2026:18:59:15 +0100] "-" 408 - "-" "\"quoted\" \\"',
        r'10.0.0.7 - ev\x22il] [x [20/Nov/2026:18:59:15 +0100] "\x16\x03\x01" 400 157 "-" "-"',
    ),
    "nginx-main": (f'10.0.0.7 - - {_IN_COMBINED} "10.9.8.7, 10.0.0.1"',),
    "combinedio": (f"10.0.0.7 - - {_IN_COMBINED} 126 641",),
    "common": (f"10.0.0.7 - - {_IN_COMBINED[:-17]}",),
    "vhost_combined": (f"lab.example:80 10.0.0.7 - - {_IN_COMBINED}",),
    "vhost-combined": (f"lab.example 10.0.0.7 - - {_IN_COMBINED}",),
    "npm": (
        '[24/Jan/2022:16:51:02 +0000] - 404 404 - GET http a.example "/x?y" [Client 10.0.0.7] [Length 192] '
        '[Gzip 3.10] [Sent-to web] "curl/8.5.0" "-"',
    ),
    "npm-direct": (
        '[24/Jan/2022:13:40:19 +0000] 444 - GET https 10.0.0.1 "/.env" [Client 10.0.0.7] [Length 0] [Gzip -] "x y" "-"',
    ),
    "npmplus": (
        '[24/Jan/2022:13:40:19 +0000] a.example 10.0.0.7 0.004 "GET /x HTTP/2.0" 200 17 212 - Mozilla/5.0 (X11; Linux)',
    ),
    "traefik-clf": (
        '10.0.0.7 - - [24/Nov/2024:13:40:15 +0000] "GET /x HTTP/2" 200 450 "-" "curl/8.5.0" 300 '
        '"a@docker -> b@docker" "http://172.17.0.4:80" 25ms',
        '10.0.0.7 - - [28/Sep/2022:13:38:04 +0000] "GET /x HTTP/1.1" - - "-" "Nikto" 456 "-" "-" 0ms',
    ),
    "aws-alb": (
        "https 2023-04-26T12:23:00.186641Z app/lb/94aa 10.0.0.7:44740 10.1.0.1:80 0.086 0.048 0.037 200 200 0 57 "
        '"GET https://www.example.com:443/robots.txt HTTP/1.1" "curl/8.5.0" ECDHE TLSv1.2 arn "Root=1" "-" "-" 1 x',
        "http 2023-04-26T19:53:46.679895Z app/lb/94aa 10.0.0.7:44740 - -1 -1 -1 404 - 204 167 "
        '"- http://www.example.com:80- -" "-" - - - "-" "-" "-" 0 x',
    ),
    "aws-elb": (
        "2021-05-13T23:39:43.945958Z lb 10.0.0.7:2817 10.1.0.1:80 0.000073 0.001048 0.000057 200 200 0 29 "
        '"GET http://www.example.com:80/ HTTP/1.1" "curl/8.5.0" - -',
        '2021-05-13T23:39:45.945958Z lb 10.0.0.7:2817 10.1.0.1:80 0.001 0.0 0.0 - - 82 305 "- - - " "-" - -',
    ),
    "aws-s3": (
        '79a5 bucket [05/Oct/2012:15:24:46 +0000] 10.0.0.7 - CE74 REST.GET.OBJECT a/b.jpg "GET /bucket/a/b.jpg '
        'HTTP/1.1" 200 - 9515 9515 42 41 "-" "curl/8.5.0" -',
    ),
    "haproxy": (
        "10.0.0.7:33317 [06/Feb/2009:12:14:14.655] http-in static/srv1 10/0/30/69/109 200 2750 - - ---- "
        '1/1/1/1/0 0/0 {1wt.eu} {} "GET /index.html HTTP/1.1"',
        "10.0.0.7:33317 [06/Feb/2009:12:14:14.655] http-in http-in/<NOSRV> -1/-1/-1/-1/5 400 187 - - PR-- "
        '1/1/0/0/0 0/0 "<BADREQ>"',
    ),
    "squid": (
        "1792531200.123    345 10.0.0.7 TCP_MISS/200 5123 GET http://www.example.com/a?b=c - HIER_DIRECT/10.1.0.1 -",
        "1792531201.004     12 10.0.0.7 TCP_DENIED/403 3898 CONNECT www.example.com:443 joe HIER_NONE/- text/html",
        "1792531202.500      0 10.0.0.7 NONE/000 0 NONE error:transaction-end-before-headers - HIER_NONE/- -",
    ),
    "envoy": (
        '[2016-04-15T20:17:00.310Z] "POST /api HTTP/2" 204 - 154 0 226 100 "10.0.35.28" "x" "cc21" "a.example" "tcp://b:80"',
        '[2016-04-15T20:17:00.310Z] "GET /api HTTP/1.1" 0 DC 154 0 226 - "-" "x" "cc21" "a.example" "-"',
    ),
    "atlassian": (
        "[17/Jun/2021:12:57:26 +0200] user http-nio-8080-exec-6 10.0.0.7 GET /index.action HTTP/1.1 200 1020ms 7881 "
        "http://localhost/ Mozilla/5.0 (Macintosh; Intel Mac OS X)",
    ),
    "bitbucket": (
        "10.0.0.7,10.0.0.1 | https | o@9K7Z3NNx6x3112x1 | joe | 2012-10-29 00:06:26,838 | "
        '"GET /a.git/info/refs HTTP/1.1" | "" "git/1.7.4.1" | 200 | 13 | 0 | refs, cache:hit | 101 | tmpqqw | ',
    ),
    "caddy": (
        '{"level":"info","ts":1693840839.657635,"logger":"http.log.access","msg":"handled request","request":'
        '{"client_ip":"10.0.0.7","proto":"HTTP/1.1","method":"GET","host":"a.example:8080","uri":"/a?b=c","headers":'
        '{"User-Agent":["curl/7.74.0"]}},"bytes_read":0,"user_id":"","duration":0.0026,"size":17,"status":200}',
    ),
    "traefik": (
        '{"ClientHost":"10.0.0.7","ClientUsername":"-","DownstreamContentSize":357,"DownstreamStatus":200,'
        '"Duration":357313,"RequestHost":"a.example","RequestMethod":"GET","RequestPath":"/a","RequestProtocol":'
        '"HTTP/1.1","StartUTC":"2021-12-08T09:16:05.123456789Z","time":"2021-12-08T09:16:05Z"}',
    ),
    "envoy-json": (
        '{":authority":"a.example","bytes_received":0,"bytes_sent":512,"duration":15,"method":"GET","protocol":'
        '"HTTP/2","response_code":200,"start_time":"2026-01-24T01:35:00.000Z","user-agent":"x","x-envoy-origin-path":'
        '"/a","x-envoy-upstream-service-time":null,"x-forwarded-for":"10.0.0.7"}',
    ),
    "istio": (
        '{"authority":"a.example","bytes_received":96,"bytes_sent":1212,"connection_termination_details":null,"duration":41,'
        '"method":"GET","path":"/a?b=c","protocol":"HTTP/1.1","response_code":200,"response_flags":"-","start_time":'
        '"2026-11-20T17:58:56.104Z","upstream_service_time":"36","user_agent":"curl/8.5.0","x_forwarded_for":null}',
        '{"authority":"a.example","bytes_received":0,"bytes_sent":0,"duration":7,"method":"GET","path":"/x","protocol":'
        '"HTTP/2","response_code":503,"response_flags":"UH","start_time":"2026-11-20T17:58:57.5Z",'
        '"upstream_service_time":null,"user_agent":"a \\"b\\"","x_forwarded_for":"10.0.0.7"}',
    ),
    "google-cloud": (
        '{"httpRequest":{"latency":"0.041502s","protocol":"HTTP/2","referer":"https://a.example/","remoteIp":"10.0.0.7",'
        '"requestMethod":"GET","requestSize":"96","requestUrl":"https://a.example/a?b=c","responseSize":"1212","status":'
        '200,"userAgent":"curl/8.5.0"},"insertId":"1k2x","severity":"INFO","timestamp":"2026-11-20T17:58:56.104221Z"}',
        '{"httpRequest":{"latency":"3s","remoteIp":"10.0.0.7","requestMethod":"POST","requestUrl":"http://a.example:8080",'
        '"responseSize":"0","status":502},"timestamp":"2026-11-20T17:58:57.5Z"}',
        '{"httpRequest":{"requestMethod":"GET","requestUrl":"https://b.example/x#y","status":404,'
        '"userAgent":"a \\"b\\""},"timestamp":"2026-11-20T17:58:57Z"}',
    ),
    "kong": (
        '{"client_ip":"10.0.0.7","latencies":{"kong":3,"proxy":36,"request":41},"request":{"headers":{"host":"a.example",'
        '"user-agent":"curl/8.5.0","x-tag":["a","b"]},"method":"GET","querystring":{"b":"c"},"size":96,"uri":"/a?b=c",'
        '"url":"http://a.example:8000/a?b=c"},"response":{"headers":{},"size":1212,"status":200},"route":{"name":"r"},'
        '"started_at":1795197536104,"upstream_uri":"/a?b=c"}',
        '{"client_ip":"10.0.0.7","consumer":{"username":"joe"},"latencies":{"kong":1,"proxy":-1,"request":1},"request":'
        '{"headers":{"host":"a.example","user-agent":["curl/8.5.0","x"]},"method":"GET","size":"96","uri":"/x"},'
        '"response":{"size":"0","status":499},"started_at":1795197536204}',
    ),
    "cloudflare": (
        '{"ClientIP":"10.0.0.7","ClientRequestBytes":812,"ClientRequestHost":"a.example","ClientRequestMethod":"GET",'
        '"ClientRequestProtocol":"HTTP/2","ClientRequestReferer":"","ClientRequestURI":"/a?b=c","ClientRequestUserAgent":'
        '"curl/8.5.0","EdgeEndTimestamp":1795197536146000000,"EdgeResponseBodyBytes":900,"EdgeResponseBytes":1212,'
        '"EdgeResponseStatus":200,"EdgeStartTimestamp":1795197536104000000,"EdgeTimeToFirstByteMs":41}',
        '{"ClientIP":"::1","ClientRequestHost":"a.example","ClientRequestMethod":"GET","ClientRequestURI":"/x",'
        '"EdgeResponseBytes":12,"EdgeResponseStatus":404,"EdgeStartTimestamp":"2026-11-20T17:58:56Z",'
        '"EdgeTimeToFirstByteMs":7}',
        '{"ClientRequestMethod":"GET","ClientRequestURI":"/x","EdgeResponseStatus":0,"EdgeStartTimestamp":1795197536}',
    ),
    "azure-gateway": (
        '{"timeStamp":"2026-11-20T17:58:56+00:00","category":"ApplicationGatewayAccessLog","listenerName":"l",'
        '"properties":{"instanceId":"i_1","clientIP":"10.0.0.7","clientPort":4711,"httpMethod":"GET",'
        '"originalRequestUriWithArgs":"\\/a?b=c","requestUri":"\\/c","requestQuery":"d=e","userAgent":"curl\\/8.5.0",'
        '"httpStatus":200,"httpVersion":"HTTP\\/1.1","receivedBytes":96,"sentBytes":1212,"timeTaken":0.041,'
        '"serverResponseLatency":"0.036","originalHost":"a.example","host":"b.example"}}',
        '{"time":"2026-11-20T17:58:56.5Z","properties":{"clientIP":"10.0.0.7","httpMethod":"GET","httpStatus":404,'
        '"originalRequestUriWithArgs":"/x","sentBytes":0,"timeTaken":2,"host":"b.example"}}',
    ),
    "azure-front-door": (
        '{"time":"2026-11-20T17:58:56.1042213Z","category":"FrontDoorAccessLog","properties":{"trackingReference":"0z",'
        '"httpMethod":"GET","httpVersion":"2.0.0.0","requestUri":"https://a.example:443/a?b=c","requestBytes":"96",'
        '"responseBytes":"1212","userAgent":"curl/8.5.0","clientIp":"10.0.0.7","timeToFirstByte":"0.040","timeTaken":'
        '"0.041","httpStatusCode":"200","hostName":"a.example"}}',
        '{"time":"2026-11-20T17:58:57Z","properties":{"httpMethod":"GET","requestUri":"https://a.example:443/x y",'
        '"responseBytes":"0","clientIp":"10.0.0.7","timeTaken":"30.001","httpStatusCode":"0"}}',
    ),
    "ecs": (
        '{"@timestamp":"2026-11-20T17:58:56.104Z","client":{"ip":"10.0.0.7"},"event":{"duration":41502000,"outcome":'
        '"success"},"http":{"request":{"bytes":96,"method":"get","referrer":"http://b.example/"},"response":{"body":'
        '{"bytes":1212},"status_code":200},"version":"1.1"},"url":{"domain":"a.example","original":"/a?b=c","path":"/a",'
        '"query":"b=c"},"user":{"name":"joe"},"user_agent":{"original":"curl/8.5.0"}}',
        '{"@timestamp":"2026-11-20T17:58:57Z","event":{"duration":2000000,"end":"2026-11-20T17:58:56.900Z"},"http":'
        '{"request":{"method":"POST"},"response":{"bytes":12,"status_code":404}},"source":{"ip":["10.0.0.8","10.0.0.9"]},'
        '"url":{"path":"/x","query":"y=z"}}',
        '{"@timestamp":"2026-11-20T17:58:58Z","http":{"request":{"method":"GET"},"response":{"status_code":"200"}},'
        '"url":{"original":"https://a.example/a?b=c"}}',
    ),
    "ecs-dotted": (
        '{"@timestamp":"2026-11-20T17:58:56.104Z","log.level":"info","client.ip":"10.0.0.7","event.duration":41502000,'
        '"http.request.method":"GET","http.response.status_code":200,"http.response.body.bytes":1212,"url.path":"/a",'
        '"url.query":"b=c","url.domain":"a.example","user_agent.original":"curl/8.5.0"}',
    ),
    "cloudfront": (
        "2024-03-12\t15:22:28\tCDG50-P2\t703\t10.0.0.7\tGET\td1.cloudfront.net\t/a\t400\t-\tcurl/8.5.0\tq=42\t-\tError"
        "\t375W==\ta.example\thttps\t62\t0.113\t-\tTLSv1.3\tTLS_AES\tError\tHTTP/2.0\t-\t-\t51754\t0.113\tError"
        "\ttext/plain\t20\t-\t-",
    ),
    "pias": (
        "2018-01-19 16:17:56.264 0.012072 0.000120 0 8478 /a.jpg 200 GET",
        "09/Nov/2017 13:12:44 0 0 0 122944 a.jpg 200 GET 20  expectedRC=200",
        "2017-Nov-28 06:54:52 0 0 0 12578 /81eae740 404 GET",
    ),
    "urls": (
        "/a?b=c",
        "http://www.example.com/a",
    ),
}
