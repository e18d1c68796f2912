package source

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

const (
	parquetMagic    = "PAR1"
	footerEndBytes  = 8        // the footer's length and the magic bytes, behind it
	footerAhead     = 64 << 10 // read at first, which is often all of the footer
	maxSchemaDeep   = 32       // columns in groups in groups
	maxSchemaGroups = 1 << 16  // with the columns, of which the library reads half as many
	rowBytes        = 32       // in memory, for a row without its texts
)

// readFooter reads what the end of a file says of it, without taking more memory than its bytes have room for.
func readFooter(r io.ReaderAt, size int64) (*format.FileMetaData, error) {
	if size < footerEndBytes+int64(len(parquetMagic)) {
		return nil, fmt.Errorf("truncated: got a file of %d bytes, want a footer; write or copy it again", size)
	}
	data, err := endOf(r, size, min(size, footerAhead))
	if err != nil {
		return nil, err
	}
	end := data[len(data)-footerEndBytes:]
	n := int64(binary.LittleEndian.Uint32(end))
	switch most := size - footerEndBytes - int64(len(parquetMagic)); {
	case string(end[4:]) != parquetMagic:
		return nil, fmt.Errorf("truncated, or no Parquet: the file ends in %q, want %q; write or copy it again", end[4:], parquetMagic)
	case n > most:
		return nil, fmt.Errorf("damaged: got a footer of %d bytes, want at most %d", n, most)
	case n > int64(len(data)-footerEndBytes):
		if data, err = endOf(r, size, n+footerEndBytes); err != nil {
			return nil, err
		}
	}
	data = data[int64(len(data))-footerEndBytes-n:][:n]
	m := new(format.FileMetaData)
	if _, err := unmarshal("footer", data, m); err != nil {
		return nil, err
	}
	if err := checkSchema(m.Schema); err != nil {
		return nil, err
	}
	return m, checkRows(m, size)
}

// endOf reads the last n bytes.
func endOf(r io.ReaderAt, size, n int64) ([]byte, error) {
	data := make([]byte, n)
	if got, err := r.ReadAt(data, size-n); int64(got) < n {
		return nil, err
	}
	return data, nil
}

// checkSchema refuses trees that are not whole, or too deep for those who walk them.
func checkSchema(all []format.SchemaElement) error {
	if len(all) > maxSchemaGroups {
		return fmt.Errorf("damaged: got %d columns and groups, want at most %d", len(all), maxSchemaGroups)
	}
	var open []int32 // children still to come, of each group that is open
	for k, e := range all {
		if e.NumChildren < 0 || int(e.NumChildren) >= len(all) || k > 0 && len(open) == 0 {
			return errors.New("damaged: its columns are no tree")
		}
		if len(open) > 0 {
			open[len(open)-1]--
		}
		if open = append(open, e.NumChildren); len(open) > maxSchemaDeep {
			return fmt.Errorf("got a column in more than %d groups, want at most as many", maxSchemaDeep)
		}
		for len(open) > 0 && open[len(open)-1] == 0 {
			open = open[:len(open)-1]
		}
	}
	if len(open) > 0 || len(all) == 0 {
		return errors.New("damaged: its columns are no tree")
	}
	return nil
}

// checkRows refuses more rows than a file of that size has room for: each takes memory, whatever is in it.
func checkRows(m *format.FileMetaData, size int64) error {
	most, rows := room(size)/rowBytes, int64(0)
	for _, g := range m.RowGroups {
		if g.NumRows < 0 {
			return fmt.Errorf("damaged: a row group has %d rows", g.NumRows)
		}
		if rows += min(g.NumRows, math.MaxInt64/2-rows); rows > most {
			return fmt.Errorf("got %d rows in a file of %d bytes, want at most %d; write it with fewer rows", rows, size, most)
		}
	}
	return nil
}

// leafElements are those of the columns with values, as row groups have them.
func leafElements(m *format.FileMetaData) (leaves []format.SchemaElement) {
	for _, e := range m.Schema {
		if e.NumChildren == 0 {
			leaves = append(leaves, e)
		}
	}
	return leaves
}

// schemaFile is a file as the library is to see it: its columns, and one row group whose pages are handed in. What values stand for is kept
// from it: it knows not all that there is, and takes some for other ones than are stored.
func schemaFile(m *format.FileMetaData) (*parquet.File, error) {
	group := format.RowGroup{}
	for range leafElements(m) {
		group.Columns = append(group.Columns, format.ColumnChunk{MetaData: format.ColumnMetaData{TotalCompressedSize: math.MaxInt64}})
	}
	for _, g := range m.RowGroups {
		if len(g.Columns) != len(group.Columns) {
			return nil, fmt.Errorf("damaged: a row group has %d columns, want %d", len(g.Columns), len(group.Columns))
		}
	}
	schema := slices.Clone(m.Schema)
	for k := range schema {
		schema[k].LogicalType, schema[k].ConvertedType = nil, nil
	}
	var protocol thrift.CompactProtocol
	footer, err := thrift.Marshal(&protocol, &format.FileMetaData{Version: m.Version, Schema: schema, RowGroups: []format.RowGroup{group}})
	if err != nil {
		return nil, err
	}
	file := append([]byte(parquetMagic), footer...)
	file = append(binary.LittleEndian.AppendUint32(file, uint32(len(footer))), parquetMagic...)
	return parquet.OpenFile(bytes.NewReader(file), int64(len(file)), parquet.SkipBloomFilters(true), parquet.SkipPageIndex(true))
}
