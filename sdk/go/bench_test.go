package crossbridge_test

import (
	"context"
	"net"
	"path/filepath"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	pb "crossbridge.dev/sdk/go/internal/v1alpha1"
)

// BenchmarkObserve is an idle look over a socket: both ends.
func BenchmarkObserve(b *testing.B) {
	ctx, stop := context.WithCancel(b.Context())
	socket := filepath.Join(b.TempDir(), "s")
	ended := make(chan error, 1)
	plugin := vectorPlugin(newStage())
	go func() { ended <- plugin.ServeAt(ctx, "unix://"+socket) }()
	client, err := grpc.NewClient("passthrough:plugin", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", socket)
		}))
	if err != nil {
		b.Fatal(err)
	}
	request := &pb.ObserveRequest{
		Target: &pb.Target{
			ResourceType: &pb.ResourceType{Group: vectorGroup, Version: "v1", Kind: "Widget"}, OwnershipMarker: "cb-1", ExternalName: "a-widget",
			Config: &pb.ConfigContext{ConfigId: "c", Revision: "1", Credentials: map[string][]byte{"key": []byte("sesame-open")}},
			Owner:  &pb.ObjectRef{Namespace: "shop", Name: "one", Uid: "1"},
		},
		Desired: &pb.DesiredState{Parameters: &pb.Document{Json: `{"size":3,"note":"a note","rules":[{"port":80}]}`}},
	}
	for b.Loop() {
		ctx, cancel := context.WithTimeout(b.Context(), 10*time.Second)
		if _, err := pb.NewResourceServiceClient(client).Observe(ctx, request, grpc.WaitForReady(true)); err != nil {
			b.Fatal(err)
		}
		cancel()
	}
	client.Close()
	stop()
	<-ended
}
