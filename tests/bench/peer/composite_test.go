package main

import (
	"context"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// cluster holds one composite resource and what it composes, and notes what is written.
type cluster struct {
	client.Client

	xr       *unstructured.Unstructured
	composed map[string]*unstructured.Unstructured
	writes   []string
}

func (c *cluster) Get(_ context.Context, key client.ObjectKey, out client.Object, _ ...client.GetOption) error {
	held := c.xr
	if out.GetObjectKind().GroupVersionKind().Kind == "Part" {
		held = c.composed[key.Name]
	}
	held.DeepCopyInto(out.(*unstructured.Unstructured))
	return nil
}

func (c *cluster) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	objects := list.(*unstructured.UnstructuredList)
	switch objects.GetKind() {
	case compositionKind.Kind:
		objects.Items = []unstructured.Unstructured{{Object: map[string]any{
			"metadata": map[string]any{"name": "orders"},
			"spec":     map[string]any{"compositeTypeRef": map[string]any{"kind": "Order"}},
		}}}
	case revisionKind.Kind:
		objects.Items = []unstructured.Unstructured{{Object: map[string]any{
			"metadata": map[string]any{"name": "orders-1"}, "spec": map[string]any{"revision": int64(1)},
		}}}
	}
	return nil
}

func (c *cluster) Update(_ context.Context, object client.Object, _ ...client.UpdateOption) error {
	c.xr = object.(*unstructured.Unstructured).DeepCopy()
	c.writes = append(c.writes, "put")
	return nil
}

func (c *cluster) Patch(_ context.Context, object client.Object, _ client.Patch, _ ...client.PatchOption) error {
	applied := object.(*unstructured.Unstructured)
	if applied.GetKind() == "Part" {
		c.composed[applied.GetName()] = applied.DeepCopy()
		c.writes = append(c.writes, "apply part")
		return nil
	}
	references, _, _ := unstructured.NestedSlice(applied.Object, "spec", "crossplane", "resourceRefs")
	_ = unstructured.SetNestedSlice(c.xr.Object, references, "spec", "crossplane", "resourceRefs")
	c.writes = append(c.writes, "apply references")
	return nil
}

func (c *cluster) Status() client.SubResourceWriter { return statusOf{cluster: c} }

type statusOf struct {
	client.SubResourceWriter
	cluster *cluster
}

func (s statusOf) Update(_ context.Context, object client.Object, _ ...client.SubResourceUpdateOption) error {
	s.cluster.xr = object.(*unstructured.Unstructured).DeepCopy()
	s.cluster.writes = append(s.cluster.writes, "put status")
	return nil
}

func (s statusOf) Patch(_ context.Context, object client.Object, _ client.Patch, _ ...client.SubResourcePatchOption,
) error {
	applied := object.(*unstructured.Unstructured)
	s.cluster.xr.Object["status"] = applied.Object["status"]
	s.cluster.xr.DeepCopyInto(applied)
	s.cluster.writes = append(s.cluster.writes, "apply status")
	return nil
}

// newComposite has a function that desires two parts, which are ready once they are observed.
func newComposite() (*compositeReconciler, *cluster) {
	xr := newObject(benchKind("Order"))
	xr.SetName("a")
	xr.SetNamespace("default")
	xr.SetUID("u")
	held := &cluster{xr: xr, composed: map[string]*unstructured.Unstructured{}}
	desires := func(_ context.Context, _ map[string]any, observed map[string]*unstructured.Unstructured,
		_ map[string]any,
	) (response, error) {
		answer := response{resources: map[string]desiredResource{}}
		for _, name := range []string{"first", "second"} {
			object := map[string]any{"apiVersion": "bench.example.org/v1", "kind": "Part"}
			answer.resources[name] = desiredResource{object: object, isReady: observed[name] != nil}
		}
		return answer, nil
	}
	return &compositeReconciler{
		client: held, reader: held, recorder: &record.FakeRecorder{},
		kind:     compositeKind{gvk: benchKind("Order"), machinery: []string{"spec", "crossplane"}},
		function: desires,
		watch:    func(schema.GroupVersionKind) error { return nil },
	}, held
}

func writesOf(t *testing.T, r *compositeReconciler, held *cluster) []string {
	t.Helper()
	held.writes = nil
	if _, err := r.pass(context.Background(), reconcile.Request{}); err != nil {
		t.Fatal(err)
	}
	return held.writes
}

func TestTheFirstPassTakesFourPutsAndAPatchForEachObjectAndTwo(t *testing.T) {
	r, held := newComposite()
	wanted := []string{
		"put", "put", "put", "put",
		"apply references", "apply part", "apply part", "apply status", "put status",
	}
	if writes := writesOf(t, r, held); !slices.Equal(writes, wanted) {
		t.Errorf("it wrote %v", writes)
	}
	if isReady(held.xr) {
		t.Error("it is ready before anything was observed")
	}
}

func TestEachLaterPassPatchesThoughNothingHasChanged(t *testing.T) {
	r, held := newComposite()
	writesOf(t, r, held)
	writesOf(t, r, held)
	if !isReady(held.xr) {
		t.Error("it is not ready though all is observed")
	}
	wanted := []string{"apply references", "apply part", "apply part", "apply status"}
	if writes := writesOf(t, r, held); !slices.Equal(writes, wanted) {
		t.Errorf("it wrote %v", writes)
	}
}

func TestAMessageIsReadAsTheContractWritesIt(t *testing.T) {
	object, err := structpb.NewStruct(map[string]any{"kind": "Part", "spec": map[string]any{"edition": 2.0}})
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := proto.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	resource := append(appendMessage(nil, 1, encoded), 3<<3, readyTrue)
	entry := appendMessage(appendMessage(nil, 1, []byte("first")), 2, resource)
	answer := appendMessage(nil, 1, appendMessage(nil, 2, []byte{1 << 3, 60}))
	answer = appendMessage(answer, 2, appendMessage(nil, 2, entry))
	decoded, err := decodeResponse(answer)
	if err != nil {
		t.Fatal(err)
	}
	first := decoded.resources["first"]
	edition, _, _ := unstructured.NestedInt64(first.object, "spec", "edition")
	if !first.isReady || edition != 2 || decoded.ttlSeconds != 60 {
		t.Errorf("it read %+v", decoded)
	}
	fatal := appendMessage(nil, 3, appendMessage([]byte{1 << 3, severityFatal}, 2, []byte("no")))
	if _, err := decodeResponse(fatal); err == nil {
		t.Error("a fatal result is no error")
	}
}
