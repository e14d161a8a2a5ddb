// Package check holds the forms that texts of the contract have. Each function names the field that it was given.
package check

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// LabelLimit is the length in bytes of condition reasons, metric labels and Kubernetes names.
	LabelLimit = 63
	// StateLimit is that of handles and provider states.
	StateLimit = 4096
	// DiffsLimit is the number of differences of one observation.
	DiffsLimit = 1024
	// WarningsLimit is the number of warnings of one answer.
	WarningsLimit = 16
	// ViolationsLimit is the number of fields at fault that one failure names.
	ViolationsLimit = 64
	// DetailsLimit is the size in bytes of all connection details of one answer, keys included.
	DetailsLimit = 1 << 20
	// What a plugin gives as a name or an id, in bytes.
	givenLimit = 1024
	nameLimit  = 253
)

// Violation is a field that breaks a rule of the contract. It never holds a value that may be secret or long.
type Violation struct{ Field, Rule string }

func (v *Violation) Error() string { return v.Field + " " + v.Rule }

// New returns a violation of this field.
func New(field, format string, arguments ...any) *Violation {
	return &Violation{Field: field, Rule: fmt.Sprintf(format, arguments...)}
}

// Missing is a field that is REQUIRED, and not set.
func Missing(field string) *Violation { return New(field, "is required, and is not set") }

// NotAllowed is a field that may not be set so.
func NotAllowed(field, format string, arguments ...any) *Violation {
	return New(field, "is not allowed: %s", fmt.Sprintf(format, arguments...))
}

// First is the first that is one.
func First(violations ...*Violation) *Violation {
	for _, violation := range violations {
		if violation != nil {
			return violation
		}
	}
	return nil
}

// Required rejects an empty text.
func Required(value, field string) *Violation {
	if value == "" {
		return Missing(field)
	}
	return nil
}

// AtMost rejects more bytes than the limit.
func AtMost(value string, limit int, field string) *Violation {
	if len(value) > limit {
		return New(field, "has %d bytes; at most %d are allowed", len(value), limit)
	}
	return nil
}

// Count rejects more items than the limit.
func Count(count, limit int, field string) *Violation {
	if count > limit {
		return New(field, "has %d items; at most %d are allowed", count, limit)
	}
	return nil
}

// Name is the form of a name or an id that a plugin gives; may be empty.
func Name(value, field string) *Violation {
	return First(UTF8(value, field), AtMost(value, givenLimit, field),
		form(!strings.ContainsFunc(value, unicode.IsControl), field, "without control characters"))
}

// Details rejects connection details that are too large together.
func Details(details map[string][]byte, field string) *Violation {
	length := 0
	for key, value := range details {
		length += len(key) + len(value)
	}
	if length > DetailsLimit {
		return New(field, "has %d bytes; at most %d are allowed", length, DetailsLimit)
	}
	return nil
}

func form(holds bool, field, what string) *Violation {
	if !holds {
		return New(field, "is malformed: it must be %s", what)
	}
	return nil
}

var (
	pascalCase = regexp.MustCompile(`^[A-Z][A-Za-z0-9]*$`)
	marker     = regexp.MustCompile(`^[a-z][a-z0-9-]*$`)
	label      = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`)
	secretKey  = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)
	uuid       = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)
	// As semver.org gives it.
	semantic = regexp.MustCompile(`^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-((?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)(?:\.(?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*))*))?(?:\+([0-9a-zA-Z-]+(?:\.[0-9a-zA-Z-]+)*))?$`)
)

// PascalCase is the form of a reason, a phase, a kind.
func PascalCase(value, field string) *Violation {
	return First(Required(value, field), AtMost(value, LabelLimit, field),
		form(pascalCase.MatchString(value), field, "PascalCase, of ASCII letters and digits"))
}

// Marker is the form of an ownership marker, which may be empty.
func Marker(value, field string) *Violation {
	return First(AtMost(value, LabelLimit, field),
		form(value == "" || marker.MatchString(value), field, "of a-z, 0-9 and '-', beginning with a letter"))
}

// DNSLabel is the form of a plural, a singular, a short name, a version.
func DNSLabel(value, field string) *Violation {
	return First(Required(value, field), AtMost(value, LabelLimit, field),
		form(label.MatchString(value) && (value[0] < '0' || value[0] > '9'), field,
			"a DNS label: of a-z, 0-9 and '-', beginning with a letter, not ending with '-'"))
}

// DNSSubdomain is the form of a plugin's name.
func DNSSubdomain(value string, limit int, field string) *Violation {
	holds := true
	for part := range strings.SplitSeq(value, ".") {
		holds = holds && label.MatchString(part) && len(part) <= LabelLimit
	}
	return First(Required(value, field), AtMost(value, limit, field),
		form(holds, field, "a DNS subdomain: labels of a-z, 0-9 and '-', joined by '.'"))
}

// APIGroup is the form of an API group.
func APIGroup(value, field string) *Violation { return DNSSubdomain(value, nameLimit, field) }

// SecretKey is the form of a key of a Secret.
func SecretKey(value, field string) *Violation {
	return First(Required(value, field), AtMost(value, nameLimit, field),
		form(secretKey.MatchString(value) && value != "." && value != "..", field,
			"a key of a Secret: of letters, digits, '-', '_' and '.'"))
}

// Pointer is the form of a JSON Pointer (RFC 6901), save that of the whole document.
func Pointer(value, field string) *Violation {
	return First(Required(value, field), form(IsPointer(value), field, "a JSON Pointer, such as /a/b"))
}

// IsPointer reports whether it is a JSON Pointer, not that of the whole document.
func IsPointer(value string) bool {
	if !strings.HasPrefix(value, "/") {
		return false
	}
	for _, escape := range strings.Split(value, "~")[1:] {
		if !strings.HasPrefix(escape, "0") && !strings.HasPrefix(escape, "1") {
			return false
		}
	}
	return true
}

// UUID is the form of a client request token.
func UUID(value, field string) *Violation {
	return First(Required(value, field), form(uuid.MatchString(value), field, "a UUID, such as 123e4567-e89b-12d3-a456-426614174000"))
}

// SemanticVersion is the form of a plugin's version.
func SemanticVersion(value, field string) *Violation {
	return First(Required(value, field), form(semantic.MatchString(value), field, "a semantic version, such as 1.2.3"))
}

// UTF8 is what protocol buffers take as text.
func UTF8(value, field string) *Violation { return form(utf8.ValidString(value), field, "UTF-8 text") }

// Distinct rejects a value that stands there twice.
func Distinct(values []string, field, name string) *Violation {
	seen := map[string]bool{}
	for i, value := range values {
		if seen[value] {
			at := fmt.Sprintf("%s[%d]", field, i)
			if name != "" {
				at += "." + name
			}
			return New(at, "is given twice: %q", value)
		}
		seen[value] = true
	}
	return nil
}
