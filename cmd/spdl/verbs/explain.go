package verbs

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spdl/spdl/core/spec"
	"github.com/spdl/spdl/core/spelling"
	"github.com/spf13/cobra"
)

func (a *app) explain() *cobra.Command {
	return &cobra.Command{
		Use:   "explain [KEY]",
		Short: "Say what a key of a description means",
		Long: `Explain says what a key of a description takes, what it is by itself and what it means, and lists the keys below it. A key is written in full, as
image.transform.random_rotation, or by its end, as random_rotation; without one the sections are listed. docs/spec.md has all of them on a page.`,
		Example: `  spdl explain
  spdl explain order
  spdl explain random_rotation
  spdl explain bad_sample.policy`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usage("explain: got %q, want one key", strings.Join(args, " "))
			}
			return nil
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return completions(begun), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
		},
		RunE: func(_ *cobra.Command, args []string) error {
			name := ""
			if len(args) == 1 {
				name = args[0]
			}
			columns, _ := screenOf(a.out)
			if columns == 0 || columns > helpColumns {
				columns = helpColumns
			}
			text, err := explained(name, columns)
			if err != nil {
				return err
			}
			fmt.Fprint(a.out, text)
			return nil
		},
	}
}

func (a *app) schema() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of descriptions, for editors",
		Long: `Schema prints the JSON Schema of a description. An editor that knows it completes keys, shows what they mean and marks what is misspelt. In YAML the first
line of a description names it, for editors with the language server of YAML:

  # yaml-language-server: $schema=spdl.schema.json

What the schema takes may still be refused, as it does not know which keys go together: spdl check says.`,
		Example: "  spdl schema > spdl.schema.json",
		Args:    none("schema"),
		RunE: func(*cobra.Command, []string) error {
			to := json.NewEncoder(a.out)
			to.SetIndent("", " ")
			to.SetEscapeHTML(false)
			return to.Encode(spec.Schema())
		},
	}
}

// plain is a key's path as it is written in a description, without what stands for the entries of a list.
func plain(path string) string { return strings.ReplaceAll(path, "[]", "") }

// lastKey is the last name of a key's path.
func lastKey(path string) string { return plain(path)[strings.LastIndexByte(plain(path), '.')+1:] }

// named are the rings and fields, which have names of their own and what the top level has.
var named = regexp.MustCompile(`^(rings|fields)\.[^.]+\.`)

// meaning are the keys that a name may mean: the one of that path, or else all that end so.
func meaning(name string) (all []spec.Key) {
	name = named.ReplaceAllString(plain(name), "")
	elsewhere := func(k spec.Key) bool { return k.Doc == "As image's." || k.Doc == "As source's." }
	for _, k := range spec.Keys() {
		if plain(k.Path) == name {
			return []spec.Key{k}
		}
		if strings.HasSuffix(plain(k.Path), "."+name) {
			all = append(all, k)
		}
	}
	if first := slices.DeleteFunc(slices.Clone(all), elsewhere); len(first) > 0 {
		return first
	}
	return all
}

// explained is what the verb prints.
func explained(name string, columns int) (string, error) {
	if name == "" {
		return "The sections and keys of a description (spdl explain KEY says more):\n\n" + listed("", columns), nil
	}
	all := meaning(name)
	if len(all) == 0 {
		var names []string
		for _, k := range spec.Keys() {
			names = append(names, plain(k.Path), lastKey(k.Path))
		}
		slices.Sort(names)
		return "", usage("explain: no key %q%s (spdl explain lists the sections)", name, didYouMean(oneOrNone(spelling.Nearest(name, slices.Compact(names)))))
	}
	if len(all) > 1 {
		var b strings.Builder
		fmt.Fprintf(&b, "%s is a key of several places:\n\n", name)
		rows := make([][2]string, len(all))
		for i, k := range all {
			rows[i] = [2]string{plain(k.Path), sentence(k.Doc)}
		}
		b.WriteString(beside(rows, columns))
		return b.String(), nil
	}
	k := all[0]
	text := fmt.Sprintf("%s\n\n", plain(k.Path)) + beside([][2]string{{"value", k.Type}, {"default", strings.Trim(k.Default, "()")}}, columns) + "\n" + filled(prose(k.Doc), columns)
	if below := listed(k.Path, columns); below != "" {
		text += "\nBelow it:\n\n" + below
	}
	return text, nil
}

// below are the keys directly under a path, or under the entries of its list.
func below(path string) (all []spec.Key) {
	for _, k := range spec.Keys() {
		rest, is := strings.CutPrefix(plain(k.Path), plain(path)+".")
		if path == "" {
			rest, is = k.Path, true
		}
		if is && !strings.Contains(rest, ".") {
			all = append(all, k)
		}
	}
	return all
}

// listed says the keys below a path, a line each where it fits.
func listed(path string, columns int) string {
	var rows [][2]string
	for _, k := range below(path) {
		rows = append(rows, [2]string{lastKey(k.Path), sentence(k.Doc)})
	}
	return beside(rows, columns)
}

// beside writes rows of a name and what is said of it, which goes on below itself.
func beside(rows [][2]string, columns int) string {
	wide := 0
	for _, row := range rows {
		wide = max(wide, utf8.RuneCountInString(row[0]))
	}
	wide = min(wide, columns/2)
	var b strings.Builder
	for _, row := range rows {
		lines := strings.Split(strings.TrimSuffix(filled(row[1], columns-wide-4), "\n"), "\n")
		if utf8.RuneCountInString(row[0]) > wide {
			fmt.Fprintf(&b, "  %s\n  %*s  %s\n", row[0], wide, "", lines[0])
		} else {
			fmt.Fprintf(&b, "  %-*s  %s\n", wide, row[0], lines[0])
		}
		for _, line := range lines[1:] {
			fmt.Fprintf(&b, "  %*s  %s\n", wide, "", line)
		}
	}
	return b.String()
}

// link is one of Markdown's.
var link = regexp.MustCompile(`\[([^]]+)\]\(([a-z-]+\.md)[^)]*\)`)

// prose is a line of the table without Markdown's marks.
func prose(doc string) string {
	doc = link.ReplaceAllStringFunc(doc, func(one string) string {
		m := link.FindStringSubmatch(one)
		if m[1] == m[2] {
			return "docs/" + m[2]
		}
		return m[1] + " (docs/" + m[2] + ")"
	})
	return strings.ReplaceAll(doc, "`", "")
}

// full is where a sentence ends.
var full = regexp.MustCompile(`[^ .]\. `)

// sentence is the first of a line of the table.
func sentence(doc string) string {
	doc = prose(doc)
	if end := full.FindStringIndex(doc); end != nil {
		doc = doc[:end[1]-1]
	}
	return strings.TrimSuffix(doc, ".")
}

// completions are the keys that begin as what is written does, to the next point.
func completions(begun string) (all []string) {
	for _, k := range spec.Keys() {
		path := plain(k.Path)
		if rest, is := strings.CutPrefix(path, begun); is && !strings.Contains(rest, ".") {
			all = append(all, path)
		}
	}
	return all
}
