package crossbridge

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"crossbridge.dev/sdk/go/internal/check"
	"crossbridge.dev/sdk/go/internal/hook"
	"crossbridge.dev/sdk/go/internal/schema"
	pb "crossbridge.dev/sdk/go/internal/v1alpha1"
)

const (
	defaultCalls        = 256
	defaultMessageBytes = 4 << 20
	endpointVariable    = "PROVIDER_PLUGIN_ENDPOINT"
)

// Plugin is its kinds, what configures it, and the limits under which it is served. It is not changed once it serves.
type Plugin struct {
	// Name is a DNS subdomain of at most 63 bytes that stays the same for ever: "s3.aws.example.org".
	Name string
	// Version is a semantic one.
	Version string
	Kinds   []Served
	// Settings is the type of a ProviderConfig's settings, by [TypeOf]; [Settings] reads them. Nil: none.
	Settings *Type
	// Credentials that the plugin understands.
	Credentials []CredentialKey
	// CheckConfig tries a config, changing nothing, and reports whom the upstream takes us for: account, subscription, project; "" if it does not say. Nil:
	// every config whose settings can be read is good.
	CheckConfig func(ctx context.Context, request *ConfigRequest) (identity string, err error)
	// MapError is the one place for the upstream's own errors: the failure that an error means; nil: it knows none.
	MapError func(err error) *Failure
	// MaxConcurrentCalls are worked on at once, and more wait; 0: 256.
	MaxConcurrentCalls int
	// MaxMessageBytes is the largest message that is taken; 0: 4 MiB.
	MaxMessageBytes int
	// Logger of the SDK; nil: slog's default.
	Logger *slog.Logger
}

// Main serves the plugin until SIGTERM or SIGINT, and ends the process: with 0, or with 1 and an error in the log.
func Main(plugin *Plugin) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	err := plugin.Serve(ctx)
	stop()
	if err != nil {
		plugin.logger().Error(err.Error())
		os.Exit(1)
	}
}

// Serve serves at the endpoint that PROVIDER_PLUGIN_ENDPOINT names until the context is done; then it lets running calls end, and returns.
func (p *Plugin) Serve(ctx context.Context) error {
	endpoint := os.Getenv(endpointVariable)
	if endpoint == "" {
		return errors.New("set " + endpointVariable + " to the address at which the bridge finds this plugin: unix:///path, https://host:port, or http://127.0.0.1:port")
	}
	return p.ServeAt(ctx, endpoint)
}

// ServeAt serves at this endpoint: unix:///path, http://127.0.0.1:port, https://host:port.
func (p *Plugin) ServeAt(ctx context.Context, endpoint string) error {
	service, err := p.declared()
	if err != nil {
		return err
	}
	if err := serve(ctx, endpoint, service); err != nil {
		return fmt.Errorf("cannot serve at %q: %w", endpoint, err)
	}
	return nil
}

// Check reports the first mistake in the declarations, as starting the plugin would: for a unit test.
func (p *Plugin) Check() error {
	_, err := p.declared()
	return err
}

func (p *Plugin) logger() *slog.Logger {
	if p.Logger != nil {
		return p.Logger
	}
	return slog.Default()
}

// declared puts the declarations together, and checks them.
func (p *Plugin) declared() (*service, error) {
	service, err := p.build()
	if err != nil {
		return nil, fmt.Errorf("plugin %s is declared wrongly: %w", p.Name, err)
	}
	return service, nil
}

func (p *Plugin) build() (*service, error) {
	info := &pb.GetPluginInfoResponse{
		Name: p.Name, Version: p.Version, ContractVersions: []string{"v1alpha1"},
		MaxConcurrentCalls: int32(min(p.MaxConcurrentCalls, math.MaxInt32)), MaxMessageBytes: int64(p.MaxMessageBytes), // Bounded.
	}
	if violation := check.First(check.DNSSubdomain(p.Name, check.LabelLimit, "name"), check.SemanticVersion(p.Version, "version")); violation != nil {
		return nil, violation
	}
	if p.MaxConcurrentCalls < 0 || p.MaxMessageBytes < 0 {
		return nil, errors.New("a plugin that takes no calls, or no bytes, serves no caller")
	}
	var keys []string
	for i, key := range p.Credentials {
		keys = append(keys, key.Name)
		if violation := check.SecretKey(key.Name, fmt.Sprintf("credential_keys[%d].name", i)); violation != nil {
			return nil, violation
		}
		info.CredentialKeys = append(info.CredentialKeys, &pb.CredentialKey{Name: key.Name, Description: key.Description, Required: key.Required})
	}
	if violation := check.Distinct(keys, "credential_keys", "name"); violation != nil {
		return nil, violation
	}
	if p.Settings != nil {
		settings, err := schema.Of(p.Settings.of)
		if err != nil {
			return nil, fmt.Errorf("config_schema_json: the type of the settings, %s: %w", p.Settings.of, err)
		}
		if violation := check.Schema(normal(settings.Schema), "config_schema_json"); violation != nil {
			return nil, violation
		}
		info.ConfigSchemaJson = text(settings.Schema)
	}
	kinds, err := p.buildKinds()
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(kinds, func(kind servedKind) bool { return kind.published().canList }) {
		info.Features = []pb.Feature{pb.Feature_FEATURE_LIST_EXTERNAL}
	}
	random := make([]byte, 16)
	if _, err := rand.Read(random); err != nil {
		return nil, err
	}
	info.InstanceId = hex.EncodeToString(random)
	return newService(p, info, kinds), nil
}

func (p *Plugin) buildKinds() ([]servedKind, error) {
	if len(p.Kinds) == 0 {
		return nil, errNoKinds
	}
	var kinds []servedKind
	for _, declared := range p.Kinds {
		if declared.build == nil {
			return nil, errors.New("an item of Kinds is empty: write crossbridge.Serve(kind, resource)")
		}
		kind, err := declared.build(p)
		if err != nil {
			return nil, fmt.Errorf("kind %s (%s): %w", declared.name, declared.source, err)
		}
		kind.published().source = declared.source
		for _, other := range kinds {
			if typeText(other.published().wire.GetResourceType()) == typeText(kind.published().wire.GetResourceType()) {
				return nil, fmt.Errorf("kind %s is registered twice: by %s, and by %s",
					typeText(kind.published().wire.GetResourceType()), other.published().source, declared.source)
			}
		}
		kinds = append(kinds, kind)
	}
	slices.SortFunc(kinds, func(a, b servedKind) int { return strings.Compare(orderOf(a), orderOf(b)) })
	return kinds, checkRequired(kinds)
}

// orderOf sorts kinds by group, version and kind.
func orderOf(kind servedKind) string {
	of := kind.published().wire.GetResourceType()
	return of.GetGroup() + "\x00" + of.GetVersion() + "\x00" + of.GetKind()
}

func init() { // The lab is another package, and nobody else shall build services.
	hook.New = func(plugin any) (*hook.Services, error) {
		declared, err := plugin.(*Plugin).declared()
		if err != nil {
			return nil, err
		}
		return &hook.Services{Plugin: declared, Resource: declared, Discovery: declared}, nil
	}
}
