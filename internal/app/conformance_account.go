package app

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/fairlead-k8s/fairlead/internal/printable"
	"github.com/fairlead-k8s/fairlead/provider/conformance"
)

// secretValue matches a key whose name sounds like a secret, and its value, in YAML,
// JSON and INI. secretBlock matches a PEM block, which is a key or a
// certificate.
var (
	secretValue = regexp.MustCompile(`(?i)((?:password|passwd|secret|token|key|credential)[\w.-]*["']?[ \t]*[:=][ \t]*)("[^"\n]*"|'[^'\n]*'|[^\s,}]+)`)
	secretBlock = regexp.MustCompile(`(?s)-----BEGIN [^-]*-----.*?-----END [^-]*-----`)
)

// conformanceAccount returns the name under which a ledger records the account. The
// name is used if the target's World does not name the account.
func (p *program) conformanceAccount(f *conformanceFlags, target conformance.Target) (string, error) {
	if account := cmp.Or(f.account, target.Account); account != "" || !f.allowWrites {
		return account, nil
	}
	return accountOf(p.settings.Provider.ConfigFile)
}

// accountOf returns a name for the account of a configuration file. A ledger records
// this name. The name depends on the file's path and content, but not on the secrets in
// the file, because they change from time to time and the name is shown.
func accountOf(file string) (string, error) {
	if file == "" {
		return "the account that is used without --cloud-config", nil
	}
	path, err1 := filepath.Abs(file)
	text, err2 := os.ReadFile(file) //nolint:gosec // the caller names its own file
	if err := errors.Join(err1, err2); err != nil {
		return "", fmt.Errorf("--cloud-config: %w", err)
	}
	plain := secretValue.ReplaceAllString(secretBlock.ReplaceAllString(string(text), ""), "$1")
	sum := sha256.New()
	for line := range strings.Lines(plain) {
		sum.Write([]byte(printable.WithoutSecrets(line)))
	}
	return fmt.Sprintf("the account of %s (%s)", path, hex.EncodeToString(sum.Sum(nil)[:6])), nil
}

// orOtherAccount adds advice to an error about a ledger of another account.
func orOtherAccount(err error, target conformance.Target) error {
	other, ok := errors.AsType[*conformance.OtherAccountError](err)
	switch {
	case !ok:
		return err
	case other.This != target.Account: // The World has named the account, and its answer is trusted.
		return fmt.Errorf("--ledger: %w", err)
	}
	return fmt.Errorf("--ledger: %w. If both are the same account, pass --account=%q", err, other.Ledger)
}
