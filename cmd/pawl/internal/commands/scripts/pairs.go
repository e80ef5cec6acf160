package scripts

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/cmd/pawl/internal/exit"
	"github.com/pawl-run/pawl/cmd/pawl/internal/term"
)

// testSuffix is before the extension in the name of a file with tests.
const testSuffix = ".test"

// extensions are those of scripts; a file with tests has one of testExtensions.
var (
	extensions     = []string{".ts", ".js"}
	testExtensions = []string{".ts", ".js", ".yaml", ".yml"}
)

// pair is a script, and the tests beside it.
type pair struct{ script, tests string }

// pairsOf are the tests that the file holds if it is a file with tests; else all tests beside the script.
func pairsOf(file string) ([]pair, error) {
	extension := filepath.Ext(file)
	name := strings.TrimSuffix(file, extension)
	if script, ok := strings.CutSuffix(name, testSuffix); ok && slices.Contains(testExtensions, extension) {
		about, _, _ := strings.Cut(filepath.Base(script), ".") // also NAME.ABOUT.test.yaml
		found := slices.Concat(scriptsNamed(script), scriptsNamed(filepath.Join(filepath.Dir(script), about)))
		if len(found) == 0 {
			return nil, exit.Misconfigured("the script of "+filepath.Base(file)+" is "+filepath.Base(script)+".ts",
				"there is no script beside %s", term.Path(file))
		}
		return []pair{{script: found[0], tests: file}}, nil
	}
	if !slices.Contains(extensions, extension) {
		return nil, exit.Misconfigured("name a script, a .ts or .js file, or its tests", "%s is neither", term.Path(file))
	}
	entries, err := os.ReadDir(filepath.Dir(file))
	if err != nil {
		return nil, exit.Failed("", fmt.Errorf("look for the tests of a script: %w", err))
	}
	var pairs []pair
	for _, entry := range entries {
		about, isTest := strings.CutPrefix(entry.Name(), filepath.Base(name)+".")
		extension := filepath.Ext(about)
		isTest = isTest && slices.Contains(testExtensions, extension) &&
			strings.HasSuffix("."+strings.TrimSuffix(about, extension), testSuffix)
		if isTest {
			pairs = append(pairs, pair{script: file, tests: filepath.Join(filepath.Dir(file), entry.Name())})
		}
	}
	if len(pairs) == 0 {
		return nil, exit.Misconfigured("write them into "+filepath.Base(name)+testSuffix+".ts",
			"there are no tests beside %s", term.Path(file))
	}
	return pairs, nil
}

// isTests reports whether a file is named as tests are.
func isTests(file string) bool {
	extension := filepath.Ext(file)
	return slices.Contains(testExtensions, extension) && strings.HasSuffix(strings.TrimSuffix(file, extension), testSuffix)
}

// scriptsNamed are the scripts of a name without extension.
func scriptsNamed(name string) (found []string) {
	for _, extension := range extensions {
		if info, err := os.Stat(name + extension); err == nil && info.Mode().IsRegular() {
			found = append(found, name+extension)
		}
	}
	return found
}
