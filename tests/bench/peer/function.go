package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const (
	runFunction   = "/apiextensions.fn.proto.v1.FunctionRunnerService/RunFunction"
	severityFatal = 1
	readyTrue     = 1
)

// desiredResource is one of a response.
type desiredResource struct {
	object  map[string]any
	isReady bool
}

// response is what is read of a RunFunctionResponse.
type response struct {
	// status is that of the desired composite resource.
	status     map[string]any
	resources  map[string]desiredResource
	ttlSeconds uint64
}

// function runs a step. Tests stand in for it.
type function func(ctx context.Context, xr map[string]any, composed map[string]*unstructured.Unstructured,
	input map[string]any) (response, error)

func dialFunction(address string) (function, error) {
	connection, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, fmt.Errorf("cannot reach the function: %w", err)
	}
	return func(ctx context.Context, xr map[string]any, composed map[string]*unstructured.Unstructured,
		input map[string]any,
	) (response, error) {
		request, err := encodeRequest(xr, composed, input)
		if err != nil {
			return response{}, err
		}
		var answer []byte
		if err := connection.Invoke(ctx, runFunction, &request, &answer, grpc.ForceCodec(raw{})); err != nil {
			return response{}, err
		}
		return decodeResponse(answer)
	}, nil
}

// raw leaves messages as the bytes that they are: of the contract only these few fields are needed.
type raw struct{}

func (raw) Name() string { return "proto" }

func (raw) Marshal(message any) ([]byte, error) { return *message.(*[]byte), nil }

func (raw) Unmarshal(data []byte, message any) error {
	*message.(*[]byte) = slices.Clone(data)
	return nil
}

// encodeRequest writes meta, observed state and input; what is desired is empty at first.
func encodeRequest(xr map[string]any, composed map[string]*unstructured.Unstructured, input map[string]any,
) ([]byte, error) {
	resource, err := encodeResource(xr)
	if err != nil {
		return nil, err
	}
	observed := appendMessage(nil, 1, resource)
	for _, name := range slices.Sorted(maps.Keys(composed)) {
		resource, err := encodeResource(composed[name].Object)
		if err != nil {
			return nil, err
		}
		entry := appendMessage(nil, 1, []byte(name))
		observed = appendMessage(observed, 2, appendMessage(entry, 2, resource))
	}
	step, err := encodeStruct(input)
	if err != nil {
		return nil, err
	}
	request := appendMessage(nil, 1, nil)
	request = appendMessage(request, 2, observed)
	request = appendMessage(request, 3, nil)
	return appendMessage(request, 4, step), nil
}

func encodeResource(object map[string]any) ([]byte, error) {
	encoded, err := encodeStruct(object)
	return appendMessage(nil, 1, encoded), err
}

func encodeStruct(object map[string]any) ([]byte, error) {
	message, err := structpb.NewStruct(object)
	if err != nil {
		return nil, err
	}
	return proto.Marshal(message)
}

func appendMessage(to []byte, field protowire.Number, message []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(to, field, protowire.BytesType), message)
}

func decodeResponse(answer []byte) (response, error) {
	decoded := response{resources: map[string]desiredResource{}}
	err := fields(answer, func(field protowire.Number, message []byte, _ uint64) error {
		switch field {
		case 1:
			return fields(message, func(field protowire.Number, ttl []byte, _ uint64) error {
				if field != 2 {
					return nil
				}
				return fields(ttl, func(field protowire.Number, _ []byte, number uint64) error {
					if field == 1 {
						decoded.ttlSeconds = number
					}
					return nil
				})
			})
		case 2:
			return decodeState(message, &decoded)
		case 3:
			return decodeResult(message)
		}
		return nil
	})
	return decoded, err
}

func decodeState(state []byte, into *response) error {
	return fields(state, func(field protowire.Number, message []byte, _ uint64) error {
		if field == 1 {
			composite, err := decodeResource(message)
			into.status, _ = composite.object["status"].(map[string]any)
			return err
		}
		var name string
		var resource desiredResource
		err := fields(message, func(field protowire.Number, message []byte, _ uint64) (err error) {
			if field == 1 {
				name = string(message)
				return nil
			}
			resource, err = decodeResource(message)
			return err
		})
		into.resources[name] = resource
		return err
	})
}

func decodeResource(message []byte) (desiredResource, error) {
	var resource desiredResource
	err := fields(message, func(field protowire.Number, message []byte, number uint64) error {
		switch field {
		case 1:
			var object structpb.Struct
			if err := proto.Unmarshal(message, &object); err != nil {
				return err
			}
			resource.object, _ = whole(object.AsMap()).(map[string]any)
		case 3:
			resource.isReady = number == readyTrue
		}
		return nil
	})
	return resource, err
}

// decodeResult makes an error of a fatal one.
func decodeResult(message []byte) error {
	var severity uint64
	var text string
	err := fields(message, func(field protowire.Number, message []byte, number uint64) error {
		switch field {
		case 1:
			severity = number
		case 2:
			text = string(message)
		}
		return nil
	})
	if err == nil && severity == severityFatal {
		err = errors.New("the function returned a fatal result: " + text)
	}
	return err
}

// fields gives each field with its bytes, or with its number.
func fields(message []byte, each func(protowire.Number, []byte, uint64) error) error {
	for len(message) > 0 {
		field, kind, length := protowire.ConsumeTag(message)
		if length < 0 {
			return protowire.ParseError(length)
		}
		message = message[length:]
		var inner []byte
		var number uint64
		switch kind {
		case protowire.BytesType:
			inner, length = protowire.ConsumeBytes(message)
		case protowire.VarintType:
			number, length = protowire.ConsumeVarint(message)
		default:
			length = protowire.ConsumeFieldValue(field, kind, message)
		}
		if length < 0 {
			return protowire.ParseError(length)
		}
		message = message[length:]
		if err := each(field, inner, number); err != nil {
			return err
		}
	}
	return nil
}

// whole makes integers of numbers that are whole: in objects that are copied there is no other kind of number but
// int64 and float64, and schemas ask for integers.
func whole(value any) any {
	switch value := value.(type) {
	case float64:
		if value == float64(int64(value)) {
			return int64(value)
		}
	case map[string]any:
		for key, one := range value {
			value[key] = whole(one)
		}
	case []any:
		for at, one := range value {
			value[at] = whole(one)
		}
	}
	return value
}
