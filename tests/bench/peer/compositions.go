package main

import (
	"context"
	"flag"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// A controller of composite resources and claims that makes the requests of Crossplane's, in its order, with its field
// managers, events and watches. Left out, as nothing that is measured needs it: several steps, requirements,
// credentials, connection Secrets, decomposition, pausing, the circuit breaker.

const (
	apiextensions = "apiextensions.crossplane.io"
	passTimeout   = 2 * time.Minute
)

// compositeKind is one that is served.
type compositeKind struct {
	gvk schema.GroupVersionKind
	// machinery is the path of the fields that are Crossplane's own.
	machinery []string
}

// claimKind is one that is served.
type claimKind struct {
	gvk       schema.GroupVersionKind
	composite compositeKind
}

func benchKind(kind string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: groupVersion.Group, Version: "v1", Kind: kind}
}

func serveCompositions(arguments []string) error {
	flags := flag.NewFlagSet("bench-peer compositions", flag.ExitOnError)
	kubeconfig := flags.String("kubeconfig", "", "how the API server is reached")
	address := flags.String("function", "", "where the one function is reached, as gRPC writes it")
	workers := flags.Int("workers", 100, "objects of a kind that are reconciled at the same time")
	_ = flags.Parse(arguments)
	manager, err := newManager(*kubeconfig, 0, func(*runtime.Scheme) {})
	if err != nil {
		return err
	}
	called, err := dialFunction(*address)
	if err != nil {
		return err
	}
	var kinds []compositeKind
	for _, kind := range []string{"Order", "Batch", "Timed"} {
		kinds = append(kinds, compositeKind{gvk: benchKind(kind), machinery: []string{"spec", "crossplane"}})
	}
	legacy := compositeKind{gvk: benchKind("XPurchase"), machinery: []string{"spec"}}
	for _, kind := range append(kinds, legacy) {
		if err := setupComposite(manager, kind, called, *workers); err != nil {
			return fmt.Errorf("cannot set up %s: %w", kind.gvk.Kind, err)
		}
	}
	claims := claimKind{gvk: benchKind("Purchase"), composite: legacy}
	if err := setupClaim(manager, claims, *workers); err != nil {
		return fmt.Errorf("cannot set up %s: %w", claims.gvk.Kind, err)
	}
	return manager.Start(ctrl.SetupSignalHandler())
}

func newObject(gvk schema.GroupVersionKind) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(gvk)
	return object
}

func setupComposite(manager ctrl.Manager, kind compositeKind, called function, workers int) error {
	name := "composite/" + kind.gvk.Kind
	r := &compositeReconciler{
		client: manager.GetClient(),
		reader: manager.GetAPIReader(),
		//nolint:staticcheck // The API of events that crossplane-runtime uses.
		recorder: manager.GetEventRecorderFor(name),
		kind:     kind,
		function: called,
	}
	controller, err := ctrl.NewControllerManagedBy(manager).
		Named(name).
		For(newObject(kind.gvk)).
		Watches(newObject(revisionKind), handler.EnqueueRequestsFromMapFunc(r.ofRevision)).
		WithOptions(backedOff(workers, 30*time.Second)).
		Build(inSilence{r.pass})
	if err != nil {
		return err
	}
	var watched sync.Map
	r.watch = func(composed schema.GroupVersionKind) error {
		if _, is := watched.LoadOrStore(composed, true); is {
			return nil
		}
		owner := handler.TypedEnqueueRequestForOwner[*unstructured.Unstructured](
			manager.GetScheme(), manager.GetRESTMapper(), newObject(kind.gvk), handler.OnlyControllerOwner())
		return controller.Watch(source.Kind(manager.GetCache(), newObject(composed), owner))
	}
	return nil
}

func setupClaim(manager ctrl.Manager, kind claimKind, workers int) error {
	name := "claim/" + kind.composite.gvk.Kind
	r := &claimReconciler{
		client: manager.GetClient(),
		//nolint:staticcheck // The API of events that crossplane-runtime uses.
		recorder: manager.GetEventRecorderFor(name),
		kind:     kind,
	}
	return ctrl.NewControllerManagedBy(manager).
		Named(name).
		For(newObject(kind.gvk)).
		Watches(newObject(kind.composite.gvk), handler.EnqueueRequestsFromMapFunc(ofClaim)).
		WithOptions(backedOff(workers, time.Minute)).
		Complete(inSilence{r.pass})
}

func backedOff(workers int, longest time.Duration) controller.Options {
	return controller.Options{
		MaxConcurrentReconciles: workers,
		RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](
			time.Second, longest),
	}
}

// ofClaim wakes the claim of a composite resource.
func ofClaim(_ context.Context, xr client.Object) []reconcile.Request {
	object := xr.(*unstructured.Unstructured).Object
	name, _, _ := unstructured.NestedString(object, "spec", "claimRef", "name")
	namespace, _, _ := unstructured.NestedString(object, "spec", "claimRef", "namespace")
	if name == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}}
}
