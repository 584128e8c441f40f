package kit_test

import (
	"errors"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-k8s/fairlead/provider"
	"github.com/fairlead-k8s/fairlead/provider/kit"
)

// settings has a field of each type that ReadConfig reads.
type settings struct {
	Endpoint kit.Endpoint      `json:"endpoint"`
	Token    string            `yaml:"token"`
	Timeout  time.Duration     `json:"timeout,omitempty"`
	Retries  int8              `json:"retries"`
	Size     uint              `json:"size"`
	Ratio    float64           `json:"ratio"`
	Debug    bool              `json:"debug"`
	Range    netip.Prefix      `json:"range"`
	Tags     map[string]string `json:"tags"`
	Networks []network         `json:"networks"`
	Proxy    *network          `json:"proxy"`
	Untagged string
	Hidden   string   `json:"-"`
	Channel  chan int `json:"channel"`
	shared
}

type shared struct {
	Region string `json:"region"`
	secret string
}

type network struct {
	Name    string `json:"name"`
	MTU     int    `json:"mtu"`
	Parents []*network
}

func (n *network) Check(wrong kit.Wrong) {
	if n.Name == "" {
		wrong("name", "is missing")
		wrong("name", "is missing, and that is said once")
	}
}

func (s *settings) Check(wrong kit.Wrong) {
	if s.Retries < 0 {
		wrong("retries", "must not be negative, but is %d", s.Retries)
	}
}

func TestConfigIsRead(t *testing.T) {
	const everything = `
endpoint: https://api.example.com/v2/
token: 0123
timeout: 1m30s
retries: 3
size: 20
ratio: 2
debug: true
range: 10.0.0.0/8
tags: {a: 1, on: true}
networks:
- name: &first front
  mtu: 1400
- {name: *first, Parents: [{name: up}]}
proxy: {name: out}
Untagged: x
region: eu-1
`
	json := strings.ReplaceAll(`{
	"endpoint": "http://[::1]:1", "token": "\u0061",
	"networks": [
		{"name": "front", "mtu": 9000}
	]
}`, "\n", "\r\n")
	for name, row := range map[string]struct {
		text string
		want settings
	}{
		"Everything": {everything, settings{
			Endpoint: "https://api.example.com/v2", Token: "0123", Timeout: 90 * time.Second, Retries: 3, Size: 20, Ratio: 2, Debug: true,
			Range: netip.MustParsePrefix("10.0.0.0/8"), Tags: map[string]string{"a": "1", "on": "true"},
			Networks: []network{{Name: "front", MTU: 1400}, {Name: "front", Parents: []*network{{Name: "up"}}}},
			Proxy:    &network{Name: "out"}, Untagged: "x", shared: shared{Region: "eu-1"},
		}},
		"JSON":         {json, settings{Endpoint: "http://[::1]:1", Token: "a", Networks: []network{{Name: "front", MTU: 9000}}}},
		"Nothing":      {"# nothing\n", settings{}},
		"EmptyFile":    {"", settings{}},
		"NoDocument":   {"---\n", settings{}},
		"EmptyListsOf": {"networks:\ntags:\nproxy:\n", settings{}},
	} {
		t.Run(name, func(t *testing.T) {
			var got settings
			if err := kit.ReadConfig(strings.NewReader(row.text), &got); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(row.want, got, cmp.AllowUnexported(settings{}, shared{}), cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
}

func TestDefaultsStayUnlessTheFileSetsThem(t *testing.T) {
	given := &network{Name: "out", MTU: 1500}
	s := settings{Token: "default", Proxy: given, Timeout: time.Second, shared: shared{secret: "kept"}}
	if err := kit.ReadConfig(strings.NewReader("timeout: 5s\nproxy: {mtu: 9000}"), &s); err != nil {
		t.Fatal(err)
	}
	if s.Token != "default" || s.Timeout != 5*time.Second || s.Proxy.Name != "out" || s.Proxy.MTU != 9000 || s.secret != "kept" {
		t.Errorf("got %+v, %+v", s, s.Proxy)
	}
	if given.MTU != 1500 {
		t.Error("the default itself was changed")
	}
	before := s
	if err := kit.ReadConfig(strings.NewReader("timeout: 7s\ndebug: 1"), &s); err == nil || s.Timeout != before.Timeout {
		t.Errorf("after the error %v it is %+v", err, s)
	}
}

func TestConfigIsRefused(t *testing.T) {
	for name, row := range map[string]struct{ text, want string }{
		"MisspeltKey":      {"endpont: x", "line 1: endpont: unknown key; did you mean endpoint?"},
		"WrongCase":        {"Endpoint: http://a", "line 1: Endpoint: unknown key; did you mean endpoint?"},
		"MisspeltInside":   {"networks:\n- name: a\n  mtuu: 3", "line 3: networks[0].mtuu: unknown key; did you mean mtu?"},
		"UnknownKey":       {"proxy: {name: a, colour: red}", "line 1: proxy.colour: unknown key; known are name, mtu, Parents"},
		"HiddenKey":        {"Hidden: x", "line 1: Hidden: unknown key; known are"},
		"OddKey":           {"\"a\\nb: c\": x", `line 1: "a\nb: c": unknown key`},
		"LongKey":          {strings.Repeat("k", 300) + ": x", "line 1: " + strings.Repeat("k", 64) + "…"},
		"KeyTwice":         {"token: a\ntoken: b", "line 2: token: is there twice"},
		"KeyTwiceInAMap":   {"tags:\n  a: b\n  a: c", "line 3: tags.a: is there twice"},
		"KeyThatIsAList":   {"? [a]\n: b", "line 1: a key must be a word"},
		"Merge":            {"tags: &t {a: b}\nproxy:\n  <<: *t\n  name: a", "line 3: proxy: a key must be a word"},
		"NoValue":          {"token:", "line 1: token: has no value; give one, or remove the key"},
		"ListForText":      {"token: [a]", "line 1: token: must have one value, not a list"},
		"KeysForText":      {"token: {a: b}", "line 1: token: must have one value, not keys and values"},
		"TextForKeys":      {"proxy: fast", "line 1: proxy: must have keys and values, not one value"},
		"TextForAList":     {"networks: a", "line 1: networks: must be a list, not one value"},
		"TextForAMap":      {"tags: a", "line 1: tags: must have keys and values, not one value"},
		"Binary":           {"token: !!binary aGk=", "line 1: token: has the tag !!binary, which is not supported"},
		"OwnTag":           {"token: !secret a", "line 1: token: has the tag !secret, which is not supported"},
		"NotABool":         {"debug: yes", `line 1: debug: must be true or false, not "yes"`},
		"NotANumber":       {"retries: three", `line 1: retries: must be a whole number, not "three"`},
		"QuotedNumber":     {"retries: '3'", `line 1: retries: must be a whole number, not "3"`},
		"Fraction":         {"retries: 1.5", `line 1: retries: must be a whole number, not "1.5"`},
		"Hexadecimal":      {"size: 0x10", `line 1: size: must be a whole number, not "0x10"`},
		"TooLarge":         {"retries: 300", `line 1: retries: is out of range: "300"`},
		"TooSmall":         {"size: -1", `line 1: size: must be a whole number, not "-1"`},
		"NotANumberAtAll":  {"ratio: .nan", `line 1: ratio: must be a number, not ".nan"`},
		"Infinite":         {"ratio: .inf", `line 1: ratio: must be a number, not ".inf"`},
		"NoUnit":           {"timeout: 10", `line 1: timeout: must be a duration such as 30s, not "10"`},
		"NoRange":          {"range: 10.0.0.0", "line 1: range: netip.ParsePrefix"},
		"TypeOfTheProgram": {"channel: 1", "line 1: channel: cannot be read: ReadConfig does not know the Go type chan int"},
		"NoURL":            {"endpoint: api.example.com", `line 1: endpoint: must be a URL such as https://api.example.com, not "api.example.com"`},
		"QueryInURL":       {"endpoint: http://a?b", "line 1: endpoint: must be a URL without a query and a fragment"},
		"Checked":          {"token: a\nretries: -1", "line 2: retries: must not be negative, but is -1"},
		"CheckedInside":    {"networks:\n- name: a\n- mtu: 3", "line 3: networks[1].name: is missing"},
		"WrongAndChecked":  {"proxy:\n  name: [a]", "line 2: proxy.name: must have one value, not a list"},
		"SecondDocument":   {"token: a\n---\ntoken: b", "line 2: a second document; the file must have one"},
		"SecondAfterNone":  {"---\n---\ntoken: b", "line 2: a second document; the file must have one"},
		"List":             {"- a", "line 1: the file must have keys and values, not a list"},
		"Text":             {"hello", "line 1: the file must have keys and values, not one value"},
		"Syntax":           {"token: a\n  debug: b", "line 2: mapping values are not allowed in this context"},
		"NotUTF8":          {"\xff\xfet\x00", "the file is not UTF-8 text: write it anew in that encoding"},
		"AllInOrder":       {"a1: x\ndebug: 1\nb2: x", "line 1: a1: unknown key; known are"},
	} {
		t.Run(name, func(t *testing.T) {
			err := kit.ReadConfig(strings.NewReader(row.text), &settings{})
			if err == nil {
				t.Fatal("was accepted")
			}
			if got, ok := strings.CutPrefix(err.Error(), "cloud config: "); !ok || !strings.HasPrefix(got, row.want) || strings.Contains(got, "\n") {
				t.Errorf("got  %s\nwant %s", err, row.want)
			}
			if strings.Contains(strings.TrimPrefix(err.Error(), "cloud config: "+row.want), "said once") {
				t.Error("the second problem of a key is shown")
			}
			if kind := provider.Classify(err).Kind; kind != provider.Invalid {
				t.Errorf("the daemon takes it for %q", kind)
			}
		})
	}
}

func TestAllProblemsAreNamedInOrder(t *testing.T) {
	err := kit.ReadConfig(strings.NewReader("debug: 1\nretries: -2\nnetworks:\n- {}\ntokn: x"), &settings{})
	const want = `cloud config: line 1: debug: must be true or false, not "1"; line 2: retries: must not be negative, but is -2; ` +
		"line 4: networks[0].name: is missing; line 5: tokn: unknown key; did you mean token?"
	if err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
	err = kit.ReadConfig(strings.NewReader(strings.Repeat("networks: a\n", 30)), &settings{})
	if err == nil || !strings.HasSuffix(err.Error(), "; and 10 more") {
		t.Errorf("got %v", err)
	}
}

// Errors are logged, so they must not show the credentials in the file.
func TestErrorsShowNoCredentials(t *testing.T) {
	const secret = "hunter2"
	for _, text := range []string{
		"token: *" + secret, "token: [" + secret + "]", "token: {a: " + secret + "}", "token: a\ntoken: " + secret, "tokn: " + secret,
		"endpoint: https://admin:" + secret + "@api.example.com", "endpoint: https://api.example.com?token=" + secret, "endpoint: https://api.example.com/#" + secret,
		"endpoint: admin:" + secret + "@api.example.com", "endpoint: ftp://api.example.com?" + secret, "endpoint: https://admin:a/" + secret + "@api.example.com", "proxy: " + secret, "networks: " + secret, "token: !x " + secret, "token: \"" + secret, "- " + secret, secret,
	} {
		err := kit.ReadConfig(strings.NewReader(text), &settings{})
		if err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestConfigIsNamed(t *testing.T) {
	name := filepath.Join(t.TempDir(), "cloud.yaml")
	if err := os.WriteFile(name, []byte("tokn: x"), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	if err := kit.ReadConfig(file, &settings{}); err == nil || err.Error() != "cloud config cloud.yaml: line 1: tokn: unknown key; did you mean token?" {
		t.Errorf("got %v", err)
	}
}

func TestConfigThatCannotBeRead(t *testing.T) {
	broken := errors.New("the disk is gone")
	if err := kit.ReadConfig(iotest.ErrReader(broken), &settings{}); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	var missing io.Reader
	if err := kit.ReadConfig(missing, &settings{}); err == nil || !strings.HasPrefix(err.Error(), "--cloud-config is missing") {
		t.Errorf("got %v", err)
	}
}

// The number of values in a file is limited, because aliases of aliases can make a
// small file large.
func TestFileHasABoundedNumberOfValues(t *testing.T) {
	var text strings.Builder
	text.WriteString("networks:\n- &n0 {name: a, Parents: [{name: a}]}\n")
	for n := range 9 {
		alias := "*n" + string(rune('0'+n))
		text.WriteString("- &n" + string(rune('1'+n)) + " {name: a, Parents: [" + strings.TrimSuffix(strings.Repeat(alias+", ", 9), ", ") + "]}\n")
	}
	if err := kit.ReadConfig(strings.NewReader(text.String()), &settings{}); err == nil || !strings.Contains(err.Error(), "the file has too many values") {
		t.Errorf("got %.200v", err)
	}
	if err := kit.ReadConfig(strings.NewReader("proxy: &p {name: a, Parents: [*p]}"), &settings{}); err == nil {
		t.Error("a value that contains itself is accepted")
	}
}

// FuzzReadConfig checks that any file is either read or refused. If a file is
// refused, the error is one line and the struct is unchanged.
func FuzzReadConfig(f *testing.F) {
	for _, seed := range []string{"endpoint: http://a", "networks: [{name: a}]", "tags: {? {}: a}", "a: &a [*a]", "proxy: &p {Parents: [*p]}", "---\n...\n", "{\"a\": 1}", "? a", "!!null", "%YAML 1.1\n---\na: b"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s := settings{Token: "before"}
		if err := kit.ReadConfig(strings.NewReader(text), &s); err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("%q: %q has several lines", text, err)
			}
			if d := cmp.Diff(settings{Token: "before"}, s, cmp.AllowUnexported(settings{}, shared{}), cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })); d != "" {
				t.Errorf("%q changes: %s", text, d)
			}
		}
	})
}
