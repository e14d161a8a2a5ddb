package crossbridge

import (
	"reflect"
	"time"

	"crossbridge.dev/sdk/go/internal/schema"
	pb "crossbridge.dev/sdk/go/internal/v1alpha1"
)

// Config is a resolved ProviderConfig: settings and credentials. It is sent on every call; cache SDK clients by (ID, Revision). Printed, it shows no
// credential.
type Config struct {
	// ID of the ProviderConfig, which stays the same.
	ID string
	// Revision changes whenever settings or credentials do.
	Revision string
	// CredentialsExpire is when the credentials go stale; zero: never. A call that comes later is answered CREDENTIALS_EXPIRED by the SDK.
	CredentialsExpire time.Time

	settings string
	// Functions, as whatever prints a struct prints what its fields hold.
	credential func(key string) ([]byte, bool)
	ambient    bool
}

func configOf(config *pb.ConfigContext) Config {
	credentials := config.GetCredentials()
	read := Config{
		ID: config.GetConfigId(), Revision: config.GetRevision(), settings: config.GetSettings().GetJson(),
		credential: func(key string) ([]byte, bool) { value, has := credentials[key]; return value, has },
		ambient:    len(credentials) == 0,
	}
	if at := config.GetCredentialsExpireTime(); at != nil {
		read.CredentialsExpire = at.AsTime()
	}
	return read
}

// Credential is a credential, if it was given.
func (c Config) Credential(key string) ([]byte, bool) {
	if c.credential == nil {
		return nil, false
	}
	return c.credential(key)
}

// RequiredCredential is one that must be there, as text: else the error is UNAUTHENTICATED.
func (c Config) RequiredCredential(key string) (string, error) {
	value, _ := c.Credential(key)
	if len(value) == 0 {
		return "", Unauthenticated("the provider config's credentials lack %q: add it to the Secret", key)
	}
	return string(value), nil
}

// IsAmbient reports that there are no credentials at all: use the identity that the plugin's own environment gives.
func (c Config) IsAmbient() bool { return c.ambient }

// Settings reads the settings of a config as the plugin's type; none at all read as {}. The error is INVALID_CONFIG, and names the field.
func Settings[T any](config Config) (T, error) {
	var settings T
	text := config.settings
	if text == "" {
		text = "{}"
	}
	if misfit := schema.Read([]byte(text), &settings); misfit != nil {
		return settings, InvalidConfig("the provider config's settings: %v", misfit)
	}
	return settings, nil
}

// Type is a Go type of which the SDK derives a schema: see [TypeOf].
type Type struct{ of reflect.Type }

// TypeOf is a type for [Plugin.Settings] or [Kind.ListFilter].
func TypeOf[T any]() *Type { return &Type{reflect.TypeFor[T]()} }

// CredentialKey is a credential that the plugin understands.
type CredentialKey struct {
	Name        string
	Description string
	// Required: it must be there, unless there are no credentials at all, which means ambient identity.
	Required bool
}
