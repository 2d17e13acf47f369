package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"io"
	"path"
)

// archive writes the files for people who install by hand, in one folder.
func (r *release) archive(p platform, files []file) error {
	name := "formulary_" + r.version + "_" + p.os + "_" + p.arch
	inside := make([]file, len(files))
	for i, f := range files {
		inside[i] = f
		inside[i].name = path.Join(name, f.name)
	}
	return r.create(name+".tar.gz", func(b *bytes.Buffer) error {
		return zip(b, func(w io.Writer) error { return r.tarball(w, inside) })
	})
}

// tarball writes files in their order, with the time of the commit. Owners have numbers only.
func (r *release) tarball(w io.Writer, files []file) error {
	t := tar.NewWriter(w)
	for _, f := range files {
		header := &tar.Header{
			Typeflag: tar.TypeReg, Name: f.name, Mode: int64(f.mode.Perm()), Size: int64(len(f.data)),
			Uid: f.owner, Gid: f.owner, ModTime: r.time, Format: tar.FormatUSTAR,
		}
		if f.mode.IsDir() {
			header.Typeflag, header.Name = tar.TypeDir, f.name+"/"
		}
		if err := t.WriteHeader(header); err != nil {
			return err
		}
		if _, err := t.Write(f.data); err != nil {
			return err
		}
	}
	return t.Close()
}

// zip compresses what is written, without name and time.
func zip(w io.Writer, write func(io.Writer) error) error {
	z, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	if err := write(z); err != nil {
		return err
	}
	return z.Close()
}
