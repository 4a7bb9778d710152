// The system class loader of RxOracle, which runs RxJava on the script's clock. In every class that
// it loads, it replaces calls of the methods in `MOVED` with calls of the same methods of
// VirtualClock. It changes only the constant pool, where each called method is an entry with a
// class and a name.
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.Set;

public final class VirtualClassLoader extends ClassLoader {
  static final Set<String> MOVED = Set.of("java/lang/System.nanoTime",
      "java/lang/System.currentTimeMillis", "java/lang/Thread.sleep");
  static final int UTF8 = 1, LONG = 5, DOUBLE = 6, CLASS = 7, STRING = 8, METHOD = 10, NAME = 12;

  public VirtualClassLoader(ClassLoader parent) { super(parent); }

  @Override
  protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
    synchronized (getClassLoadingLock(name)) {
      Class<?> known = findLoadedClass(name);
      if (known != null) return known;
      // The JDK's classes and this class exist only once.
      if (!name.contains("rxjava3") && name.contains(".") || name.equals(getClass().getName())) {
        return super.loadClass(name, resolve);
      }
      try (InputStream in = getParent().getResourceAsStream(name.replace('.', '/') + ".class")) {
        if (in == null) throw new ClassNotFoundException(name);
        byte[] code = name.startsWith("Virtual") ? in.readAllBytes() : move(in.readAllBytes());
        return defineClass(name, code, 0, code.length);
      } catch (IOException e) {
        throw new ClassNotFoundException(name, e);
      }
    }
  }

  static byte[] move(byte[] code) throws IOException {
    DataInputStream in = new DataInputStream(new java.io.ByteArrayInputStream(code));
    in.skipBytes(8);
    int count = in.readUnsignedShort();
    int[] at = new int[count];  // the offset of each entry
    String[] text = new String[count];
    for (int i = 1; i < count; ++i) {
      at[i] = code.length - in.available();
      int tag = in.readUnsignedByte();
      switch (tag) {
        case UTF8: text[i] = in.readUTF(); break;
        case LONG: case DOUBLE: in.skipBytes(8); ++i; break;
        case CLASS: case STRING: case 16: case 19: case 20: in.skipBytes(2); break;
        case 15: in.skipBytes(3); break;
        default: in.skipBytes(4); break;
      }
    }
    int end = code.length - in.available();
    boolean moved = false;
    for (int i = 1; i < count; ++i) {
      if (at[i] == 0 || code[at[i]] != METHOD) continue;
      String owner = text[number(code, at[number(code, at[i] + 1)] + 1)];
      String method = text[number(code, at[number(code, at[i] + 3)] + 1)];
      if (!MOVED.contains(owner + "." + method)) continue;
      code[at[i] + 1] = (byte) ((count + 1) >> 8);
      code[at[i] + 2] = (byte) (count + 1);
      moved = true;
    }
    if (!moved) return code;
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    DataOutputStream out = new DataOutputStream(bytes);
    out.write(code, 0, 8);
    out.writeShort(count + 2);
    out.write(code, 10, end - 10);
    out.writeByte(UTF8);
    out.writeUTF("VirtualClock");
    out.writeByte(CLASS);
    out.writeShort(count);
    out.write(code, end, code.length - end);
    return bytes.toByteArray();
  }

  static int number(byte[] code, int at) { return (code[at] & 255) << 8 | code[at + 1] & 255; }
}
