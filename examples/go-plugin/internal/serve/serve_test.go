package serve

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"example.org/press/internal/service"
)

// limit of a wait that should be short; far below longestCall.
const limit = 30 * time.Second

// start serves nothing but who it is.
func start(t *testing.T, ctx context.Context, endpoint string) <-chan error {
	t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- Serve(ctx, endpoint, service.NewPlugin("1.0.0", service.Serve())) }()
	return ended
}

func TestAnOpenStreamDoesNotHoldUpTheEnd(t *testing.T) {
	within, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	serving, stop := context.WithCancel(within)
	defer stop()
	// Short enough for a socket wherever it is; and as it is written, whatever is in it.
	folder, err := os.MkdirTemp("", "press")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(folder)
	endpoint := "unix://" + filepath.Join(folder, "a b%zz.sock")
	ended := start(t, serving, endpoint)

	connect := func(ctx context.Context, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", strings.TrimPrefix(endpoint, "unix://"))
	}
	client, err := grpc.NewClient(
		"passthrough:plugin", grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithContextDialer(connect),
	)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	watch, err := healthpb.NewHealthClient(client).Watch(within, &healthpb.HealthCheckRequest{}, grpc.WaitForReady(true))
	if err != nil {
		t.Fatal(err)
	}
	for _, expected := range []healthpb.HealthCheckResponse_ServingStatus{
		healthpb.HealthCheckResponse_SERVING, healthpb.HealthCheckResponse_NOT_SERVING,
	} {
		if said, err := watch.Recv(); err != nil || said.GetStatus() != expected {
			t.Fatalf("%v, %v, and not %v", said, err, expected)
		}
		stop()
	}
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-within.Done():
		t.Error("it still serves")
	}
}

func TestAnUnservableEndpointIsRejected(t *testing.T) {
	for _, endpoint := range []string{"", "plugin.sock", "unix://plugin.sock", "http://0.0.0.0:0", "http://127.0.0.1", "tcp://127.0.0.1:0"} {
		if listener, _, err := listen(endpoint); err == nil {
			listener.Close()
			t.Errorf("%q is served", endpoint)
		}
	}
	listener, _, err := listen("http://127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listener.Close()
}
