// Package spec reads the description of a data loader: parse, fill in defaults, validate.
//
// [Parse] turns YAML or JSON into a [Spec] whose every field has its final value, or into an [*Error] that names file, line, column,
// dotted path, what was got, what was wanted, and the nearest valid name. [FromFolder] is the description that needs no file.
//
//	s, err := spec.Load("imagenet.yaml")
//	for _, ring := range s.All() {
//		fmt.Println(ring.FullName(), ring.RowShape(), ring.Image.DType)
//	}
//
// The keys, their types, defaults and meaning are one table, [Keys]. It drives the search for the nearest name and the page
// docs/spec.md, which a test holds equal to it.
//
// Reading is strict: no unknown or doubled key, no value of the wrong type, no number out of range, no octal by accident, no
// second document. It touches no file but the one that Load opens; whether a folder exists is for core/source to say. A hostile document
// costs little: it is at most 1 MiB, lists are bounded, and aliases are followed where they stand, never expanded.
//
// A Spec is a plain value; nothing here is safe for use while somebody changes it.
package spec

//go:generate go test -run TestSpecPageEqualsTheTable -update .
