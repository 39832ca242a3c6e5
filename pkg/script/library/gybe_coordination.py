"""Client of a coordination server (SOL002 clause 10; tacker.sol_refactored.common.coord_client)."""

import base64
import json
import time
import urllib.error
import urllib.parse
import urllib.request

from gybe_errors import SolException

VERSION = "1.0.0"
DEFAULT_TIMEOUT = 3600
DEFAULT_DELAY = 5
ANSWER_TIMEOUT = 60


def _token(params):
    """Get a token with client credentials (OAuth 2.0)."""
    login = "%s:%s" % (params["clientId"], params["clientPassword"])
    request = urllib.request.Request(
        params["tokenEndpoint"], data=b"grant_type=client_credentials", headers={
            "Authorization": "Basic " + base64.b64encode(login.encode()).decode(),
            "Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json",
        },
    )
    with urllib.request.urlopen(request, timeout=ANSWER_TIMEOUT) as answer:
        return json.load(answer)["access_token"]


def _authorization(authentication):
    """Return the value of the header Authorization; None for a server that needs no login."""
    kinds = (authentication or {}).get("authType") or []
    if "BASIC" in kinds:
        params = authentication.get("paramsBasic")
        if not params:
            raise SolException(sol_detail="paramsBasic must be specified.")
        login = "%s:%s" % (params.get("userName", params.get("user")), params["password"])
        return "Basic " + base64.b64encode(login.encode()).decode()
    if "OAUTH2_CLIENT_CREDENTIALS" in kinds:
        params = authentication.get("paramsOauth2ClientCredentials")
        if not params:
            raise SolException(sol_detail="paramsOauth2ClientCredentials must be specified.")
        return "Bearer " + _token(params)
    if kinds:
        raise SolException(sol_detail="the authentication %s is not available here" % ", ".join(kinds))
    return None


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *args):
        return None


def _call(method, url, headers, body=None):
    """Send a request; return status, headers and the JSON of the answer."""
    request = urllib.request.Request(url, method=method, headers=headers)
    if body is not None:
        request.data = json.dumps(body).encode()
    try:
        answer = urllib.request.build_opener(_NoRedirect).open(request, timeout=ANSWER_TIMEOUT)
    except urllib.error.HTTPError as e:
        answer = e
    with answer:
        text = answer.read()
        return answer.status, answer.headers, json.loads(text) if text else None


def create_coordination(endpoint, authentication, coord_req, timeout=None):
    """Ask the server, wait for its decision, and return the LcmCoord."""
    end = time.monotonic() + float(timeout or DEFAULT_TIMEOUT)
    headers = {"Version": VERSION, "Accept": "application/json", "Content-Type": "application/json"}
    authorization = _authorization(authentication)
    if authorization:
        headers["Authorization"] = authorization
    base = endpoint.rstrip("/") + "/lcmcoord/v1/coordinations"
    method, url, body = "POST", base, coord_req
    while True:
        status, answered, content = _call(method, url, headers, body)
        if status in (200, 201):
            return content
        if status == 202 and answered.get("Location"):
            method, url, body = "GET", urllib.parse.urljoin(base, answered["Location"]), None
        elif status == 202 and method == "POST":
            raise SolException(sol_detail="Location header not included in response.")
        elif status != 503 and status != 202:
            raise SolException(sol_detail="the coordination server answers %d to %s %s" % (status, method, url))
        delay = float(answered.get("Retry-After") or DEFAULT_DELAY)
        if time.monotonic() + delay > end:
            raise SolException(sol_detail="the coordination server has not decided in time")
        time.sleep(delay)
