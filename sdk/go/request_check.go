package crossbridge

import (
	"fmt"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"crossbridge.dev/sdk/go/internal/check"
	"crossbridge.dev/sdk/go/internal/schema"
	pb "crossbridge.dev/sdk/go/internal/v1alpha1"
)

// required are the fields that the contract marks as such.
var required = func() map[protoreflect.FullName]bool {
	marked := map[protoreflect.FullName]bool{}
	for _, file := range []protoreflect.FileDescriptor{
		pb.File_crossbridge_provider_v1alpha1_target_proto, pb.File_crossbridge_provider_v1alpha1_plugin_service_proto,
		pb.File_crossbridge_provider_v1alpha1_resource_service_proto, pb.File_crossbridge_provider_v1alpha1_discovery_service_proto,
	} {
		for i := range file.Messages().Len() {
			fields := file.Messages().Get(i).Fields()
			for j := range fields.Len() {
				is, _ := proto.GetExtension(fields.Get(j).Options(), pb.E_IsRequired).(bool)
				marked[fields.Get(j).FullName()] = is
			}
		}
	}
	return marked
}()

// checkRequest rejects a request in which a field is not set that the contract marks as required, or one that is out of form.
func checkRequest(request proto.Message) *check.Violation {
	violation := checkMessage(request.ProtoReflect(), "")
	if violation != nil {
		return violation
	}
	switch request := request.(type) {
	case *pb.CreateRequest:
		return check.UUID(request.GetClientRequestToken(), "client_request_token")
	case *pb.UpdateRequest:
		violation = check.Required(request.GetTarget().GetExternalName(), "target.external_name")
		for i, path := range request.GetChangedPaths() {
			violation = check.First(violation, check.Pointer(path, fmt.Sprintf("changed_paths[%d]", i)))
		}
	case *pb.DeleteRequest:
		violation = check.Required(request.GetTarget().GetExternalName(), "target.external_name")
	case *pb.PollOperationRequest:
		violation = check.AtMost(request.GetHandle(), check.StateLimit, "handle")
	case interface{ GetPageSize() int32 }:
		if request.GetPageSize() < 0 {
			violation = check.New("page_size", "is out of range: 0 or more is allowed")
		}
	}
	return violation
}

func checkMessage(message protoreflect.Message, at string) *check.Violation {
	fields := message.Descriptor().Fields()
	for i := range fields.Len() {
		field := fields.Get(i)
		name := at + string(field.Name())
		if required[field.FullName()] && !message.Has(field) {
			return check.Missing(name)
		}
		if field.Message() == nil || field.IsList() || field.IsMap() || !message.Has(field) {
			continue
		}
		if violation := checkMessage(message.Get(field).Message(), name+"."); violation != nil {
			return violation
		}
	}
	switch message := message.Interface().(type) {
	case *pb.ResourceType:
		return check.First(check.APIGroup(message.GetGroup(), at+"group"), check.DNSLabel(message.GetVersion(), at+"version"),
			check.PascalCase(message.GetKind(), at+"kind"))
	case *pb.Target:
		return check.First(check.Marker(message.GetOwnershipMarker(), at+"ownership_marker"), check.Marker(message.GetFormerMarker(), at+"former_marker"),
			check.AtMost(message.GetProviderState(), check.StateLimit, at+"provider_state"))
	case *pb.Document:
		if _, err := schema.Object(message.GetJson()); err != nil {
			return check.New(at+"json", "is not the text of a JSON object: %v", err)
		}
	case *pb.ConfigContext:
		if expiry := message.GetCredentialsExpireTime(); expiry != nil && expiry.CheckValid() != nil && expiry.GetSeconds() < 0 {
			return check.New(at+"credentials_expire_time", "is out of range: a time of the calendar is allowed")
		}
	case *pb.DesiredState:
		for pointer, value := range message.GetSensitiveValues() {
			field := fmt.Sprintf("%ssensitive_values[%q]", at, pointer)
			if violation := check.Pointer(pointer, field); violation != nil {
				return violation
			}
			if !utf8.ValidString(value) {
				return check.UTF8(value, field)
			}
		}
	}
	return nil
}
