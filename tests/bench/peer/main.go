// A provider whose cloud is a map in its memory, on controller-runtime. It makes the requests that the managed
// reconciler of crossplane-runtime 2.4 makes, in its order: what bridge-bench compares the bridge with.
//
// It serves the kinds of bench-plugin with the CRDs that are there. It prints what bench-plugin prints: `update NAME
// MICROSECONDS` for each Update, and once a second `observed COUNT`.
//
// As `bench-peer compositions` it is a controller of composite resources and claims instead: see compositions.go.
package main

import (
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// options are the flags.
type options struct {
	kubeconfig string
	cloud      string
	poll       time.Duration
	workers    int
	rate       int
}

func main() {
	command, arguments := serveManaged, os.Args[1:]
	if len(arguments) > 0 && arguments[0] == "compositions" {
		command, arguments = serveCompositions, arguments[1:]
	}
	if err := command(arguments); err != nil {
		fmt.Fprintln(os.Stderr, "the peer failed:", err)
		os.Exit(1)
	}
}

func serveManaged(arguments []string) error {
	var o options
	// controller-runtime has flags of its own among the program's.
	flags := flag.NewFlagSet("bench-peer", flag.ExitOnError)
	flags.StringVar(&o.kubeconfig, "kubeconfig", "", "how the API server is reached")
	flags.StringVar(&o.cloud, "cloud", "", "file that holds the cloud between two processes")
	flags.DurationVar(&o.poll, "poll", time.Minute, "how often what is Ready is observed")
	flags.IntVar(&o.workers, "workers", 32, "objects of a kind that are reconciled at the same time")
	flags.IntVar(&o.rate, "max-reconcile-rate", 0,
		"as in providers, whose default is 10: reconciles per second of all kinds and workers of each, and five times as many requests per second; 0: no limit, and --workers")
	_ = flags.Parse(arguments)
	return run(o)
}

func run(o options) error {
	manager, err := newManager(o.kubeconfig, o.rate, addToScheme)
	if err != nil {
		return err
	}
	external, err := openCloud(o.cloud)
	if err != nil {
		return err
	}
	limit := newReconcileLimit(o.rate)
	for _, kind := range []kind{
		{name: "Named", empty: func() managed { return &Named{} }, isNamedByUser: true},
		{name: "Given", empty: func() managed { return &Given{} }},
	} {
		if err := setup(manager, kind, external, limit, o); err != nil {
			return fmt.Errorf("cannot set up %s: %w", kind.name, err)
		}
	}
	go external.printObserved()
	if err := manager.Start(ctrl.SetupSignalHandler()); err != nil {
		return err
	}
	return external.save(o.cloud)
}

// newManager gives one whose client answers from its cache, unstructured objects too.
func newManager(kubeconfig string, rate int, addToScheme func(*runtime.Scheme)) (ctrl.Manager, error) {
	ctrl.SetLogger(logr.Discard())
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("cannot read the kubeconfig: %w", err)
	}
	limitRequests(config, rate)
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return nil, err
	}
	addToScheme(scheme)
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:  scheme,
		Metrics: server.Options{BindAddress: "0"},
		Client:  client.Options{Cache: &client.CacheOptions{Unstructured: true}},
	})
	if err != nil {
		return nil, fmt.Errorf("cannot create the manager: %w", err)
	}
	return manager, nil
}

// limitRequests limits what client-go limits by itself.
func limitRequests(config *rest.Config, rate int) {
	config.QPS = -1
	if rate > 0 {
		config.QPS, config.Burst = float32(rate*5), rate*10
	}
}
