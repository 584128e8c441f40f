package settings

import (
	"strings"
	"testing"

	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/klog/v2/ktesting"
)

// withSecrets returns the settings of a program whose flags contain secrets.
func withSecrets(t *testing.T, args ...string) *Settings {
	t.Helper()
	var own cliflag.NamedFlagSets
	fs := own.FlagSet("acme")
	for _, name := range []string{"acme-api-token", "acme-token-file", "acme-keys", "acme-apiToken", "acme-authtoken", "acme-login", "acme-zone"} {
		fs.String(name, "", "")
	}
	fs.StringP("acme-password", "p", "", "")
	fs.StringSlice("acme-secret", nil, "")
	fs.BytesHex("acme-key-bytes", nil, "")
	fs.Bool("acme-rotate-key", false, "")
	if err := fs.SetAnnotation("acme-login", "classified", []string{"true"}); err != nil {
		t.Fatal(err)
	}
	p := ours
	p.Flags = own
	s := New(p)
	if err := flagSet(s).Parse(args); err != nil {
		t.Fatal(err)
	}
	return s
}

var secretArgs = []string{
	"--acme-api-token=s3cret", "--acme-secret=s3cret,s3cret", "--acme-login=s3cret", "--acme-rotate-key",
	"--acme-token-file=/run/token", "--acme-keys=a,b", "--acme-apiToken=s3cret", "--acme-authtoken=s3cret", "--acme-key-bytes=5ec4e7", "--acme-zone=north", "--master=https://admin:s3cret@10.0.0.1:6443", "--tls-private-key-file=/run/tls.key",
}

func TestShownFlags(t *testing.T) {
	all := withSecrets(t, secretArgs...).ShownFlags()
	for name, want := range map[string]string{
		// These values are hidden because of the flag's name or annotation.
		"acme-api-token": "CLASSIFIED",
		"acme-secret":    "CLASSIFIED",
		"acme-login":     "CLASSIFIED",
		"acme-keys":      "CLASSIFIED",
		"acme-apiToken":  "CLASSIFIED",
		"acme-authtoken": "CLASSIFIED",
		"acme-key-bytes": "CLASSIFIED",
		// These values are shown because they are not secrets.
		"acme-rotate-key":                        "true",
		"acme-token-file":                        "/run/token",
		"acme-zone":                              "north",
		"tls-private-key-file":                   "/run/tls.key",
		"authentication-token-webhook-cache-ttl": "10s",
		"cluster-name":                           "kubernetes",
		// A URL is shown without its secrets.
		"master": "https://xxxxx@10.0.0.1:6443",
	} {
		if got, ok := all[name]; !ok || got != want {
			t.Errorf("--%s: %q, want %q", name, got, want)
		}
	}
	if got := withSecrets(t).ShownFlags()["acme-api-token"]; got != "" {
		t.Errorf("a secret that is not set is shown as %q", got)
	}
	for _, f := range upstreamFlags {
		if _, ok := all[f.Name]; !ok && f.Name != "help" { // cobra adds it
			t.Errorf("--%s is not shown", f.Name)
		}
	}
}

func TestLogHidesSecrets(t *testing.T) {
	config := ktesting.NewConfig(ktesting.BufferLogs(true), ktesting.Verbosity(1))
	logger := ktesting.NewLogger(ktesting.NopTL{}, config)
	withSecrets(t, secretArgs...).LogFlags(logger)
	log := logger.GetSink().(ktesting.Underlier).GetBuffer().String()
	if !strings.Contains(log, `Flag flag="--acme-zone" value="north"`) || strings.Contains(log, "s3cret") {
		t.Errorf("logged: %s", log)
	}
}

func TestJudgementsHideSecrets(t *testing.T) {
	for _, tc := range []struct {
		name string
		args []string
		want string
	}{
		{"AfterAnEqualsSign", []string{"--acme-api-token=s3cret"}, "--acme-api-token=CLASSIFIED: used"},
		{"InTheNextWord", []string{"--acme-api-token", "s3cret"}, "--acme-api-token CLASSIFIED: used"},
		{"AfterALetter", []string{"-ps3cret"}, "-pCLASSIFIED: used"},
		{"AfterALetterAndASpace", []string{"-p", "s3cret"}, "-p CLASSIFIED: used"},
		{"AfterALetterAndAnEqualsSign", []string{"-p=s3cret"}, "-p=CLASSIFIED: used"},
		{"ByAnnotation", []string{"--acme-login=s3cret"}, "--acme-login=CLASSIFIED: used"},
		{"AfterALetterWithAnEqualsSignInIt", []string{"-ps3=cret"}, "-pCLASSIFIED: used"},
		{"NoValue", []string{"--acme-api-token="}, "--acme-api-token=: used"},
		{"ValueIsMissing", []string{"--acme-api-token"}, "--acme-api-token: refused: flag needs an argument: --acme-api-token"},
		{"DashAlone", []string{"-"}, "-: used"},
		{"WrongValue", []string{"--acme-key-bytes=s3cret"}, `--acme-key-bytes=CLASSIFIED: refused: invalid argument CLASSIFIED for "--acme-key-bytes" flag`},
		{"ValueOfTheEnvironment", []string{"--acme-secret=s3cret,$(MORE)"}, "--acme-secret=CLASSIFIED: used: the kubelet fills in its value, which is not checked here"},
		{"UnknownFlag", []string{"--other-password=s3cret"}, "--other-password=CLASSIFIED: unknown: unknown flag: --other-password"},
		{"UnknownFlagWithUnderscores", []string{"--other_key", "s3cret"}, "--other_key CLASSIFIED: unknown: unknown flag: --other_key"},
		{"PasswordInAURL", []string{"--master", "https://admin:s3cret@10.0.0.1:6443"}, "--master https://xxxxx@10.0.0.1:6443: used"},
		{"PasswordInAnUnknownFlag", []string{"--proxy=http://me:s3cret@proxy"}, "--proxy=http://xxxxx@proxy: unknown: unknown flag: --proxy"},
		{"NoSecret", []string{"--acme-rotate-key=true", "--acme-token-file=/run/token", "--acme-zone=north"}, "--acme-rotate-key=true: used\n--acme-token-file=/run/token: used\n--acme-zone=north: used"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := judged(t, withSecrets(t), append([]string{"--cloud-provider=test"}, tc.args...)...)
			if got = strings.TrimPrefix(got, "--cloud-provider=test: used\n"); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestErrorAboutAFlagHidesSecrets(t *testing.T) {
	flags := flagSet(withSecrets(t))
	err := Explain(flags.Parse([]string{"--acme-key-bytes=s3cret"}), flags)
	if want := `invalid argument CLASSIFIED for "--acme-key-bytes" flag`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
