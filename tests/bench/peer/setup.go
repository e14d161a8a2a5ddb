package main

import (
	"context"
	"maps"
	"time"

	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"golang.org/x/time/rate"
)

// kind is one that is served.
type kind struct {
	name  string
	empty func() managed
	// isNamedByUser: the initializer names it like the object, else Create does.
	isNamedByUser bool
}

func setup(manager ctrl.Manager, kind kind, external *cloud, limit *rate.Limiter, o options) error {
	workers := o.workers
	if o.rate > 0 {
		workers = o.rate
	}
	name := "managed/" + kind.name
	r := &reconciler{
		client: manager.GetClient(),
		//nolint:staticcheck // The API of events that crossplane-runtime uses.
		recorder: manager.GetEventRecorderFor(name),
		kind:     kind,
		cloud:    external,
		poll:     o.poll,
	}
	return ctrl.NewControllerManagedBy(manager).
		Named(name).
		For(kind.empty()).
		WithEventFilter(desiredStateChanged()).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: workers,
			RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](
				time.Second, time.Minute),
		}).
		Complete(limited{inner: r, limit: limit})
}

// desiredStateChanged lets pass what a user changes, and the annotation of a successful Create.
func desiredStateChanged() predicate.Predicate {
	annotations := func(object client.Object) map[string]string {
		kept := maps.Clone(object.GetAnnotations())
		delete(kept, createPending)
		delete(kept, createFailed)
		return kept
	}
	return predicate.Funcs{
		UpdateFunc: func(e event.UpdateEvent) bool {
			return e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration() ||
				!maps.Equal(e.ObjectOld.GetLabels(), e.ObjectNew.GetLabels()) ||
				!maps.Equal(annotations(e.ObjectOld), annotations(e.ObjectNew))
		},
	}
}

// newReconcileLimit is of all kinds together; nil: there is none.
func newReconcileLimit(perSecond int) *rate.Limiter {
	if perSecond <= 0 {
		return nil
	}
	return rate.NewLimiter(rate.Limit(perSecond), perSecond*10)
}

// limited puts off what is over the limit.
type limited struct {
	inner reconcile.Reconciler
	limit *rate.Limiter
}

func (l limited) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	if l.limit != nil {
		if reservation := l.limit.Reserve(); reservation.Delay() > 0 {
			delay := reservation.Delay()
			reservation.Cancel()
			return reconcile.Result{RequeueAfter: delay}, nil
		}
	}
	return l.inner.Reconcile(ctx, request)
}
