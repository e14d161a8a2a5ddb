package main

import (
	"context"
	"slices"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// store holds one object, and notes what is written.
type store struct {
	client.Client

	held   Named
	writes []string
	// conflicts is how many writes are still to fail so.
	conflicts int
}

func (s *store) Get(_ context.Context, _ client.ObjectKey, out client.Object, _ ...client.GetOption) error {
	s.held.deepCopyInto(out.(managed).thing())
	return nil
}

func (s *store) Update(_ context.Context, object client.Object, _ ...client.UpdateOption) error {
	if s.conflicts > 0 {
		s.conflicts--
		s.writes = append(s.writes, "conflict")
		return apierrors.NewConflict(schema.GroupResource{Resource: "named"}, object.GetName(), nil)
	}
	object.(managed).thing().deepCopyInto(&s.held.Thing)
	s.writes = append(s.writes, "object")
	return nil
}

func (s *store) Status() client.SubResourceWriter { return status{store: s} }

type status struct {
	client.SubResourceWriter
	store *store
}

func (s status) Update(_ context.Context, object client.Object, _ ...client.SubResourceUpdateOption) error {
	object.(managed).thing().deepCopyInto(&s.store.held.Thing)
	s.store.writes = append(s.store.writes, "status")
	return nil
}

func newReconciler(t *testing.T) (*reconciler, *store) {
	t.Helper()
	external, err := openCloud("")
	if err != nil {
		t.Fatal(err)
	}
	held := &store{held: Named{Thing{ObjectMeta: metav1.ObjectMeta{Name: "a", Generation: 1}}}}
	return &reconciler{
		client:   held,
		recorder: &record.FakeRecorder{},
		kind:     kind{name: "Named", empty: func() managed { return &Named{} }, isNamedByUser: true},
		cloud:    external,
		poll:     time.Minute,
	}, held
}

// pass gives what one pass has written, and when the next one is to be.
func pass(t *testing.T, r *reconciler, held *store) ([]string, reconcile.Result) {
	t.Helper()
	held.writes = nil
	result, err := r.Reconcile(context.Background(), reconcile.Request{})
	if err != nil {
		t.Fatal(err)
	}
	return held.writes, result
}

func expect(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Fatalf("written: %v, expected: %v", got, want)
	}
}

func (s *store) reason(condition string) string {
	for _, held := range s.held.Status.Conditions {
		if held.Type == condition {
			return held.Reason
		}
	}
	return ""
}

func TestALifeTakesEightWrites(t *testing.T) {
	r, held := newReconciler(t)
	writes, result := pass(t, r, held)
	expect(t, writes, "object", "object", "object", "object", "status")
	if result != again || held.reason("Ready") != "Creating" {
		t.Fatalf("after the Create: %v, %v", result, held.held.Status)
	}
	for range 2 {
		// A poll that finds nothing new writes, too.
		writes, result = pass(t, r, held)
		expect(t, writes, "status")
		if result.RequeueAfter != r.poll || held.reason("Ready") != "Available" {
			t.Fatalf("when it is Ready: %v, %v", result, held.held.Status)
		}
	}
	now := metav1.Now()
	held.held.DeletionTimestamp = &now
	writes, _ = pass(t, r, held)
	expect(t, writes, "status")
	if held.reason("Ready") != "Deleting" {
		t.Fatalf("after the Delete: %v", held.held.Status)
	}
	// It is younger than 30 seconds: that it is absent is not believed.
	writes, result = pass(t, r, held)
	expect(t, writes)
	if result != again {
		t.Fatalf("within the grace: %v", result)
	}
	held.held.Annotations[createSucceeded] = now.Add(-time.Minute).Format(time.RFC3339)
	held.held.Annotations[createPending] = held.held.Annotations[createSucceeded]
	writes, _ = pass(t, r, held)
	expect(t, writes, "object")
	if len(held.held.Finalizers) > 0 {
		t.Fatalf("finalizers: %v", held.held.Finalizers)
	}
}

func TestAConflictBeforeTheCreateCreatesNothing(t *testing.T) {
	r, held := newReconciler(t)
	held.conflicts = 1
	writes, result := pass(t, r, held)
	expect(t, writes, "conflict")
	if result != again || len(r.cloud.held.Things) > 0 {
		t.Fatalf("%v, %v", result, r.cloud.held.Things)
	}
}

func TestACreateOfUnknownEndIsNotRepeated(t *testing.T) {
	r, held := newReconciler(t)
	held.held.Annotations = map[string]string{externalName: "a", createPending: time.Now().Format(time.RFC3339)}
	writes, result := pass(t, r, held)
	expect(t, writes, "status")
	if result != (reconcile.Result{}) || held.reason("Synced") != "ReconcileError" {
		t.Fatalf("%v, %v", result, held.held.Status)
	}
}

func TestAChangeOfTheSpecIsUpdatedWithOneWrite(t *testing.T) {
	r, held := newReconciler(t)
	pass(t, r, held)
	held.held.Spec.ForProvider.Size = 2
	writes, _ := pass(t, r, held)
	expect(t, writes, "status")
	if r.cloud.held.Things["a"].Size != 2 {
		t.Fatalf("%v", r.cloud.held.Things)
	}
}

func TestOnlyWhatTheUserChangesPasses(t *testing.T) {
	object := func(change func(*Named)) *Named {
		changed := &Named{Thing{ObjectMeta: metav1.ObjectMeta{Name: "a", Generation: 1}}}
		change(changed)
		return changed
	}
	for name, test := range map[string]struct {
		change func(*Named)
		passes bool
	}{
		"generation": {func(n *Named) { n.Generation = 2 }, true},
		"label":      {func(n *Named) { n.Labels = map[string]string{"a": "b"} }, true},
		"succeeded":  {func(n *Named) { n.Annotations = map[string]string{createSucceeded: "now"} }, true},
		"pending":    {func(n *Named) { n.Annotations = map[string]string{createPending: "now"} }, false},
		"finalizer":  {func(n *Named) { n.Finalizers = []string{finalizer} }, false},
	} {
		update := event.UpdateEvent{ObjectOld: object(func(*Named) {}), ObjectNew: object(test.change)}
		if passes := desiredStateChanged().Update(update); passes != test.passes {
			t.Errorf("%s: %v", name, passes)
		}
	}
}
