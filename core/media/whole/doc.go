// Package whole writes files that appear at their names whole or not at all.
//
//	f, err := whole.Create("a.wav") // a file with another name, beside it
//	if err != nil {
//		return err
//	}
//	if _, err = f.Write(bytes); err != nil {
//		f.Abandon()
//		return err
//	}
//	return f.Finish()
//
// What is there already and no regular file, such as a FIFO or a device, keeps its name and is written as bytes come.
// Of a process that dies a hidden file is left that ends in .part, and [Sweep] tells it by its lock from what others still write.
// Nothing is synced to the disk. A [File] belongs to one goroutine at a time.
package whole
