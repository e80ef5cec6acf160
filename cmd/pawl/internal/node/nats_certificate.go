package node

import (
	"encoding/pem"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/pawl-run/pawl/cmd/pawl/internal/datadir"
)

// writeNATSCertificate writes down which certificate the listener has, if it has one.
func (in *Node) writeNATSCertificate() error {
	path := filepath.Join(in.NatsDir(), datadir.NATSCertificate)
	certificate, err := in.Settings.TLS()
	if err != nil {
		return err
	}
	if certificate == nil || !in.natsTLS {
		if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	leaf := certificate.Certificates[0].Certificate[0]
	return datadir.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: leaf}))
}
