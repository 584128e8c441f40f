package provider

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// VolumeOf returns the folder of a file in a mounted Secret or ConfigMap. For any
// other file, it returns the file itself, because the other files in its folder are
// not the provider's.
func VolumeOf(file string) string {
	if _, err := os.Lstat(filepath.Join(filepath.Dir(file), "..data")); err == nil {
		return filepath.Dir(file)
	}
	return file
}

// Fingerprint returns a text that changes when one of the files changes. For a
// folder it reads the files directly inside, except for tokens of the pod. The
// kubelet replaces these tokens before they expire, and their users read them again.
func Fingerprint(paths []string) (string, error) {
	sum := sha256.New()
	for _, path := range paths {
		files, err := filesOf(path)
		if err != nil {
			return "", err
		}
		for _, file := range files {
			content, err := os.ReadFile(file) //nolint:gosec // a flag names it
			if err != nil {
				return "", err
			}
			if file != path && isPodToken(content) {
				continue
			}
			sum.Write(fmt.Appendf(nil, "%q %d\n", file, len(content)))
			sum.Write(content)
		}
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

func filesOf(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	switch {
	case info.Mode().IsRegular():
		return []string{path}, nil
	case !info.IsDir():
		return nil, nil // A pipe can be read only once, and the provider must be the one that reads it.
	}
	entries, err := os.ReadDir(path) // sorted
	if err != nil {
		return nil, err
	}
	var files []string
	for _, entry := range entries {
		file := filepath.Join(path, entry.Name())
		if strings.HasPrefix(entry.Name(), "..") {
			continue // the kubelet's own entry; the other files are links into it
		}
		// Stat follows links.
		info, err := os.Stat(file)
		if err != nil {
			return nil, err
		}
		if info.Mode().IsRegular() {
			files = append(files, file)
		}
	}
	return files, nil
}

// isPodToken reports whether the content is a token of a service account from a
// projected volume. It is a JWT with Kubernetes' own claim.
func isPodToken(content []byte) bool {
	parts := strings.Split(strings.TrimSpace(string(content)), ".")
	if len(parts) != 3 {
		return false
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return false
	}
	var claims struct {
		Kubernetes json.RawMessage `json:"kubernetes.io"`
	}
	return json.Unmarshal(payload, &claims) == nil && claims.Kubernetes != nil
}
