// Package leak says what something leaves behind that is done again and again: memory, of C's heap as of Go's, and descriptors; and what is in a directory.
//
//	if err := leak.After(200, 256<<10, one); err != nil {
//		t.Error(err)
//	}
//
// It is for tests, and one of them at a time: what other goroutines take meanwhile counts, too. Not covered: goroutines.
package leak
