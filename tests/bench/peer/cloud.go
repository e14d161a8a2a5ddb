package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"reflect"
	"sync"
	"time"
)

// cloud is a map in memory that answers at once, like that of bench-plugin.
type cloud struct {
	mutex sync.Mutex
	held  held
}

// held is what outlives the process: the cloud of bench-plugin outlives the bridge, too.
type held struct {
	Things   map[string]Parameters `json:"things"`
	Named    int                   `json:"named"`
	Observed uint64                `json:"observed"`
}

// openCloud reads what a former process left in the file, if there is one.
func openCloud(path string) (*cloud, error) {
	c := &cloud{held: held{Things: map[string]Parameters{}}}
	if path == "" {
		return c, nil
	}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the cloud: %w", err)
	}
	if err := json.Unmarshal(data, &c.held); err != nil {
		return nil, fmt.Errorf("cannot read the cloud in %s: %w", path, err)
	}
	return c, nil
}

func (c *cloud) save(path string) error {
	if path == "" {
		return nil
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	data, err := json.Marshal(c.held)
	if err != nil {
		return fmt.Errorf("cannot write the cloud: %w", err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		return fmt.Errorf("cannot write the cloud: %w", err)
	}
	return nil
}

// observation is what an Observe answers.
type observation struct {
	exists   bool
	upToDate bool
	status   Observation
}

func (c *cloud) observe(name string, desired Parameters) observation {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.held.Observed++
	thing, exists := c.held.Things[name]
	if name == "" || !exists {
		return observation{}
	}
	return observation{
		exists:   true,
		upToDate: reflect.DeepEqual(thing, desired),
		status:   Observation{ID: "id-of-" + name, Address: name + "." + thing.Region + ".example.org"},
	}
}

// create names it itself if it has no name, and gives the name.
func (c *cloud) create(name string, desired Parameters) string {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if name == "" {
		name = fmt.Sprintf("g-%d", c.held.Named)
		c.held.Named++
	}
	c.held.Things[name] = desired.deepCopy()
	return name
}

// update prints `update NAME MICROSECONDS`, as bench-plugin does.
func (c *cloud) update(name string, desired Parameters) {
	fmt.Printf("update %s %d\n", name, time.Now().UnixMicro())
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.held.Things[name] = desired.deepCopy()
}

func (c *cloud) remove(name string) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	delete(c.held.Things, name)
}

// printObserved prints `observed COUNT` each second, as bench-plugin does.
func (c *cloud) printObserved() {
	for range time.Tick(time.Second) {
		c.mutex.Lock()
		observed := c.held.Observed
		c.mutex.Unlock()
		fmt.Printf("observed %d\n", observed)
	}
}
