# Serves moto on a port that the system chooses, and writes the address into the file of the first argument. A port that was chosen
# before could be another server's by now, and whoever waits for moto there would take that one for it.
import os
import sys

from moto.iam.access_control import IAMRequestBase
from moto.server import DomainDispatcherApplication, MotoRequestHandler, create_backend_app
from werkzeug.serving import make_server

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

application = DomainDispatcherApplication(create_backend_app)
application.debug = True
server = make_server("127.0.0.1", 0, application, threaded=True, request_handler=MotoRequestHandler)
# As moto's own main has it: parts of moto call its server.
os.environ["MOTO_PORT"] = str(server.port)
# It listens from here on. The file appears whole.
with open(sys.argv[1] + ".new", "w") as file:
    file.write(f"127.0.0.1:{server.port}")
os.rename(sys.argv[1] + ".new", sys.argv[1])
server.serve_forever()
