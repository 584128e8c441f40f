package kit_test

import (
	"errors"
	"maps"
	"strings"
	"testing"

	cloudprovider "k8s.io/cloud-provider"

	"github.com/fairlead-k8s/fairlead/provider"
	"github.com/fairlead-k8s/fairlead/provider/kit"
)

func digits(s string) bool { return strings.Trim(s, "0123456789") == "" }

// These are the provider IDs of some clouds, with the forms that earlier
// versions wrote.
var (
	regional = kit.NewProviderIDs("acme://{region}/{id}", "acme:///{id}", "{id}")
	numbered = kit.NewProviderIDs("hcloud://{id}").Where("id", digits)
	metal    = kit.NewProviderIDs("hrobot://{id}", "hcloud://bm-{id}").Where("id", digits)
	zonal    = kit.NewProviderIDs("aws:///{zone}/{id}", "aws:////{id}")
	deep     = kit.NewProviderIDs("azure:///subscriptions/{sub}/resourceGroups/{group}/vm/{name}").Where("group", func(string) bool { return true })
)

type parts = map[string]string

func TestProviderIDIsParsed(t *testing.T) {
	for _, row := range []struct {
		ids  *kit.ProviderIDs
		text string
		want parts
	}{
		{regional, "acme://eu-1/i-1", parts{"region": "eu-1", "id": "i-1"}},
		{regional, "acme:///i-1", parts{"id": "i-1"}},
		{regional, "i-1", parts{"id": "i-1"}},
		{numbered, "hcloud://42", parts{"id": "42"}},
		{metal, "hrobot://42", parts{"id": "42"}},
		{metal, "hcloud://bm-42", parts{"id": "42"}},
		{zonal, "aws:///eu-west-1a/i-0abc", parts{"zone": "eu-west-1a", "id": "i-0abc"}},
		{zonal, "aws:////i-0abc", parts{"id": "i-0abc"}},
		{deep, "azure:///subscriptions/s/resourceGroups/a:b/vm/n", parts{"sub": "s", "group": "a:b", "name": "n"}},
	} {
		if got, err := row.ids.Parse(row.text); err != nil || !maps.Equal(got, row.want) {
			t.Errorf("%s: got %v, %v", row.text, got, err)
		}
	}
}

func TestProviderIDIsRefused(t *testing.T) {
	for _, row := range []struct {
		ids  *kit.ProviderIDs
		text string
		want error
	}{
		{regional, "aws:///eu/i-1", kit.ErrForeignProviderID},
		{regional, "other-acme://eu/i-1", kit.ErrForeignProviderID},
		{regional, "ACME://eu/i-1", kit.ErrForeignProviderID},
		{regional, "acmebaremetal://eu/i-1", kit.ErrForeignProviderID},
		{regional, "://eu/i-1", kit.ErrMalformedProviderID},
		{regional, "://i-1", kit.ErrMalformedProviderID},
		{regional, "", kit.ErrMalformedProviderID},
		{regional, "acme://", kit.ErrMalformedProviderID},
		{regional, "acme://eu", kit.ErrMalformedProviderID},
		{regional, "acme://eu/", kit.ErrMalformedProviderID},
		{regional, "acme://eu/..", kit.ErrMalformedProviderID},
		{regional, "acme://eu/i-1/stop", kit.ErrMalformedProviderID},
		{regional, "acme://eu/i-1 ", kit.ErrMalformedProviderID},
		{regional, "acme://eu/i-1\n", kit.ErrMalformedProviderID},
		{regional, "acme://eu/i%2f1", kit.ErrMalformedProviderID},
		{regional, "acme://eu/i-１", kit.ErrMalformedProviderID},
		{regional, " acme://eu/i-1", kit.ErrForeignProviderID},
		{numbered, "hcloud://bm-42", kit.ErrMalformedProviderID},
		{numbered, "42", kit.ErrMalformedProviderID},
		{numbered, "hrobot://42", kit.ErrForeignProviderID},
		{metal, "hcloud://42", kit.ErrMalformedProviderID},
		{zonal, "aws:////", kit.ErrMalformedProviderID},
		{deep, "azure:///subscriptions/s/resourcegroups/g/vm/n", kit.ErrMalformedProviderID},
		{deep, "azure:///subscriptions/s/resourceGroups/a?b/vm/n", kit.ErrMalformedProviderID},
	} {
		got, err := row.ids.Parse(row.text)
		if got != nil || !errors.Is(err, row.want) {
			t.Errorf("%q: got %v, %v; want %v", row.text, got, err, row.want)
		}
		if errors.Is(err, cloudprovider.InstanceNotFound) || provider.Classify(err).Kind != provider.Invalid {
			t.Errorf("%q: %v is taken for another kind", row.text, err)
		}
	}
	_, err := regional.Parse("acme://x")
	const want = `provider ID "acme://x": it is malformed; it should be like acme://{region}/{id} or acme:///{id} or {id}`
	if err.Error() != want {
		t.Errorf("got %v", err)
	}
}

func TestProviderIDIsPrinted(t *testing.T) {
	for _, row := range []struct {
		ids   *kit.ProviderIDs
		parts []string
		want  string
	}{
		{regional, []string{"eu-1", "i-1"}, "acme://eu-1/i-1"},
		{numbered, []string{"42"}, "hcloud://42"},
		{zonal, []string{"eu-west-1a", "i-0abc"}, "aws:///eu-west-1a/i-0abc"},
		{deep, []string{"s", "g", "n"}, "azure:///subscriptions/s/resourceGroups/g/vm/n"},
		{regional, []string{"", "i-1"}, ""},
		{regional, []string{"eu/west", "i-1"}, ""},
		{regional, []string{"i-1"}, ""},
		{regional, []string{"eu-1", "i-1", "more"}, ""},
		{numbered, []string{"4x"}, ""},
		{deep, []string{"s", "..", "n"}, ""},
	} {
		got, err := row.ids.Print(row.parts...)
		if got != row.want || (err == nil) != (row.want != "") {
			t.Errorf("%q: got %q, %v", row.parts, got, err)
		}
	}
}

func TestFormsAreChecked(t *testing.T) {
	for _, form := range []string{"", "{id}", "acme://", "acme://{id", "acme://{id}x", "acme://{id}/{id}", "Acme://{id}", "://{id}", "acme://{}", "acme://a b/{id}"} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%q is accepted", form)
				}
			}()
			kit.NewProviderIDs(form)
		}()
	}
}

func TestWhereLeavesTheOthersAsTheyAre(t *testing.T) {
	strict := regional.Where("region", digits).Where("id", digits).Where("id", func(string) bool { return true })
	if _, err := strict.Parse("acme://eu/1"); err == nil {
		t.Error("the rule for the region is lost")
	}
	if _, err := regional.Parse("acme://eu/i-1"); err != nil {
		t.Error(err)
	}
}

// FuzzProviderID checks that no part can change the path of a request. If a provider
// ID has the form that Print writes, Parse and then Print must return the same ID.
func FuzzProviderID(f *testing.F) {
	for _, seed := range []string{"acme://eu/i-1", "acme:///i-1", "aws:////i", "hcloud://bm-1", "azure:///subscriptions/a/resourceGroups/b/vm/c", "a://../.."} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, ids := range []*kit.ProviderIDs{regional, numbered, metal, zonal, deep} {
			got, err := ids.Parse(text)
			for name, part := range got {
				if part == "" || part == ".." || strings.ContainsAny(part, "/?#% \n") {
					t.Errorf("%q: %s is %q", text, name, part)
				}
			}
			if errors.Is(err, kit.ErrForeignProviderID) == errors.Is(err, kit.ErrMalformedProviderID) && err != nil {
				t.Errorf("%q: %v is both or neither", text, err)
			}
		}
		if got, err := regional.Parse(text); err == nil && got["region"] != "" {
			if printed, err := regional.Print(got["region"], got["id"]); err != nil || printed != text {
				t.Errorf("%q is printed as %q, %v", text, printed, err)
			}
		}
	})
}
