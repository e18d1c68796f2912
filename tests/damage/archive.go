package damage

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"strconv"
	"strings"
)

const tarBlock = 512

// A tar's headers hold the sum of their bytes, taken with spaces in its place.
func repairTar(whole, bad []byte) {
	const sum, sumBytes, size, sizeBytes = 148, 8, 124, 12
	for at := 0; at+tarBlock <= len(whole) && whole[at] != 0; {
		head := bad[at : at+tarBlock]
		copy(head[sum:], strings.Repeat(" ", sumBytes))
		total := 0
		for _, b := range head {
			total += int(b)
		}
		copy(head[sum:], fmt.Sprintf("%06o\x00 ", total))
		n, err := strconv.ParseInt(strings.Trim(string(whole[at+size:at+size+sizeBytes]), " \x00"), 8, 64)
		if err != nil || n < 0 || n > int64(len(whole)) {
			return
		}
		at += tarBlock + (int(n)+tarBlock-1)/tarBlock*tarBlock
	}
}

// A zip's members that are stored have a checksum in the list at the end, which is the one that is read.
func repairZip(whole, bad []byte) {
	z, err := zip.NewReader(bytes.NewReader(whole), int64(len(whole)))
	if err != nil {
		return
	}
	at := bytes.Index(whole, []byte("PK\x01\x02"))
	for _, f := range z.File {
		const sum, name, fixed = 16, 28, 46
		if at < 0 || at+fixed > len(whole) {
			return
		}
		if data, err := f.DataOffset(); err == nil && f.Method == zip.Store {
			binary.LittleEndian.PutUint32(bad[at+sum:], crc32.ChecksumIEEE(bad[data:data+int64(f.CompressedSize64)]))
		}
		le := binary.LittleEndian
		at += fixed + int(le.Uint16(whole[at+name:])) + int(le.Uint16(whole[at+name+2:])) + int(le.Uint16(whole[at+name+4:]))
	}
}
