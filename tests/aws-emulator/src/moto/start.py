# Starts moto's server; the arguments are its own.
from moto.iam.access_control import IAMRequestBase
from moto.server import main

signed_request = IAMRequestBase._create_aws_request


def without_query_as_body(self):
    """Of a request that is no form, moto checks the signature as if its query were its body."""
    if self._method == "POST":
        return signed_request(self)
    data, self._data = self._data, {}
    try:
        return signed_request(self)
    finally:
        self._data = data


IAMRequestBase._create_aws_request = without_query_as_body
main()
